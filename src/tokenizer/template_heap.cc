#include "tokenizer/template_heap.h"

namespace sluice::jinja {

Heap::~Heap() {
  // First everything lets go of everything (all objects are still there, so each release() is safe), then all go.
  closing_ = true;
  for (Object* object = live_; object != nullptr; object = object->next_) object->drop_references();
  while (live_ != nullptr) {
    Object* object = live_;
    unlink(object);
    delete object;
  }
}

void Heap::adopt(Object* object, std::size_t bytes) {
  object->heap_ = this;
  object->bytes_ = bytes;
  used_ += bytes;
  object->next_ = live_;
  if (live_ != nullptr) live_->previous_ = object;
  live_ = object;
}

void Heap::charge(Object& object, std::size_t payload_bytes) {
  used_ += payload_bytes;
  object.bytes_ += payload_bytes;
}

void Heap::refund(Object& object, std::size_t payload_bytes) {
  used_ -= payload_bytes;
  object.bytes_ -= payload_bytes;
}

void Heap::unlink(Object* object) noexcept {
  if (object->previous_ != nullptr) {
    object->previous_->next_ = object->next_;
  } else {
    live_ = object->next_;
  }
  if (object->next_ != nullptr) object->next_->previous_ = object->previous_;
}

void Heap::destroy(Object* object) noexcept {
  if (closing_) return;
  unlink(object);
  object->next_ = dead_;
  dead_ = object;
  if (draining_) return;
  // A list of lists of lists ... a million deep must not recurse a million deep.
  draining_ = true;
  while (dead_ != nullptr) {
    Object* next = dead_;
    dead_ = next->next_;
    used_ -= next->bytes_;
    delete next;
  }
  draining_ = false;
}

}  // namespace sluice::jinja
