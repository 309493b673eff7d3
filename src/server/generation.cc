#include "server/generation.h"

namespace sluice::server {

void Generation::push(GenerationEvent event) {
  {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  wake_();
}

std::optional<GenerationEvent> Generation::pop() {
  const std::lock_guard lock(mutex_);
  if (events_.empty()) return std::nullopt;
  GenerationEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

}  // namespace sluice::server
