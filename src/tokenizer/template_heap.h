// The heap of one render: counts references and bytes, and frees cycles at its end. Not thread-safe: one render, one
// heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace sluice::jinja {

class Heap;

// Base of everything on a heap.
class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;

  // Lets go of all other objects. Called for what is left when the heap closes, so that cycles (a list appended to
  // itself, a macro in the scope it closes over) can be freed.
  virtual void drop_references() {}

  void retain() noexcept { ++references_; }
  void release() noexcept;
  bool shared() const { return references_ > 1; }
  Heap& heap() const { return *heap_; }

 private:
  friend class Heap;
  Heap* heap_ = nullptr;
  Object* previous_ = nullptr;
  Object* next_ = nullptr;
  std::size_t bytes_ = 0;  // charged to the heap
  std::uint32_t references_ = 0;
};

// A counted pointer to a T on a heap.
template <typename T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) noexcept : object_(object) {
    if (object_ != nullptr) object_->retain();
  }
  Ref(const Ref& other) noexcept : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->release();
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

// Must outlive every Value and Ref that points into it.
class Heap {
 public:
  explicit Heap(std::size_t limit) : limit_(limit) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;
  ~Heap();

  // Makes an object and charges sizeof(T). Never fails: who allocates in a loop asks exhausted() now and then.
  template <typename T, typename... Arguments>
  Ref<T> make(Arguments&&... arguments) {
    T* object = new T(std::forward<Arguments>(arguments)...);
    adopt(object, sizeof(T));
    return Ref<T>(object);
  }
  // Charges what an object holds beside itself, in bytes; given back when the object goes.
  void charge(Object& object, std::size_t payload_bytes);
  // Gives back part of it, when the object shrinks.
  void refund(Object& object, std::size_t payload_bytes);

  std::size_t used() const { return used_; }
  bool exhausted() const { return used_ > limit_; }

 private:
  friend class Object;
  void adopt(Object* object, std::size_t bytes);
  void unlink(Object* object) noexcept;
  void destroy(Object* object) noexcept;

  Object* live_ = nullptr;  // list of all objects
  Object* dead_ = nullptr;  // objects to delete, in the order found; keeps the depth of destructors at one
  std::size_t used_ = 0;
  std::size_t limit_;
  bool draining_ = false;
  bool closing_ = false;
};

inline void Object::release() noexcept {
  if (--references_ == 0) heap_->destroy(this);
}

}  // namespace sluice::jinja
