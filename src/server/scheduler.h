// Continuous batching: one thread runs the model over all sequences that are under way, and takes new ones out of a
// bounded first-come-first-served queue.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "server/generation.h"

namespace sluice::server {

struct SchedulerOptions {
  std::size_t parallel = 16;    // sequences at a time
  std::size_t max_queue = 512;  // generations that wait
};

class Scheduler {
 public:
  // The engine must outlive the scheduler, and is used by nobody else meanwhile.
  Scheduler(Engine& engine, const SchedulerOptions& options);
  // Ends what is under way with kCancelled.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // All of them or none, so that a request for several answers is never half accepted. Errors: kInvalidArgument (a
  // token id, the prompt's length, a sampling parameter: one bad request must not fail a pass that others are in),
  // kResource (the queue is full, or drain() was called).
  Status submit(const std::vector<std::shared_ptr<Generation>>& generations);
  // Takes nothing new; what was accepted goes on.
  void drain();
  std::size_t running() const;
  std::size_t waiting() const;

 private:
  struct Slot;
  Status check(const GenerationRequest& request) const;
  void run();
  void admit();
  void step();
  void prune();
  void finish(Slot& slot, FinishReason reason, std::optional<Error> error = std::nullopt);
  void advance(Slot& slot);

  Engine& engine_;
  const SchedulerOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::deque<std::unique_ptr<Slot>> queue_;  // with mutex_
  std::size_t running_ = 0;                  // with mutex_
  bool draining_ = false;                    // with mutex_
  bool stopping_ = false;                    // with mutex_
  std::vector<std::unique_ptr<Slot>> active_;
  std::thread thread_;
};

}  // namespace sluice::server
