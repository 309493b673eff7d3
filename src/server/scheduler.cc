#include "server/scheduler.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "engine/answer_text.h"
#include "engine/stop_filter.h"

namespace sluice::server {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

struct Scheduler::Slot {
  Slot(std::shared_ptr<Generation> wanted, Engine& engine)
      : generation(std::move(wanted)),
        sampler(generation->request.sampling),
        text(*engine.tokenizer(), generation->request.prompt),
        filter(generation->request.stop.strings) {
    for (const std::int32_t token : generation->request.prompt) sampler.accept(token);
    usage.prompt_tokens = static_cast<std::int64_t>(generation->request.prompt.size());
  }

  std::shared_ptr<Generation> generation;
  std::unique_ptr<Sequence> sequence;  // once it is active
  Sampler sampler;
  AnswerText text;
  StopFilter filter;
  std::size_t prompt_done = 0;
  std::size_t in_step = 0;  // tokens of the current forward pass
  std::int32_t last_token = 0;
  std::vector<float> logits;
  GenerationUsage usage;
  Clock::time_point accepted = Clock::now();
  bool finished = false;

  const GenerationRequest& request() const { return generation->request; }
  bool prefilled() const { return prompt_done == request().prompt.size(); }
};

Scheduler::Scheduler(Engine& engine, const SchedulerOptions& options)
    : engine_(engine), options_(options), thread_([this] { run(); }) {}

Scheduler::~Scheduler() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  thread_.join();
}

Status Scheduler::check(const GenerationRequest& request) const {
  const auto tokens = engine_.spec().vocab_size;
  const auto check_id = [&](std::string_view what, std::int32_t id) {
    if (id >= 0 && id < tokens) return Status::success();
    return Status(Error(ErrorCode::kInvalidArgument,
                        fmt::format("{}: token id {} is out of range: the model has {} tokens", what, id, tokens)));
  };
  for (const std::int32_t id : request.prompt) SLUICE_TRY(check_id("prompt", id));
  for (const auto& [id, bias] : request.logit_bias) SLUICE_TRY(check_id("logit_bias", id));
  const auto length = static_cast<std::int64_t>(request.prompt.size());
  if (length < 1 || length >= engine_.context()) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("a prompt of {} tokens; 1 to {} fit into the context", length, engine_.context() - 1));
  }
  return request.sampling.validate();
}

Status Scheduler::submit(const std::vector<std::shared_ptr<Generation>>& generations) {
  for (const auto& generation : generations) SLUICE_TRY(check(generation->request));
  std::vector<std::unique_ptr<Slot>> slots;  // made outside of the lock
  for (const auto& generation : generations) slots.push_back(std::make_unique<Slot>(generation, engine_));
  {
    const std::lock_guard lock(mutex_);
    if (draining_ || stopping_ || queue_.size() + slots.size() > options_.max_queue) {
      return Error(ErrorCode::kResource, draining_ || stopping_ ? "the server is stopping" : "the queue is full");
    }
    for (auto& slot : slots) queue_.push_back(std::move(slot));
  }
  work_.notify_all();
  return Status::success();
}

void Scheduler::drain() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
}

std::size_t Scheduler::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

std::size_t Scheduler::waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void Scheduler::run() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      running_ = active_.size();
      // Those in the queue may be cancelled or run out of time while others fill all places: admit() looks at each
      // step.
      work_.wait(lock, [&] { return stopping_ || !active_.empty() || !queue_.empty(); });
      if (stopping_) break;
    }
    admit();
    prune();
    if (!active_.empty()) step();
    std::erase_if(active_, [](const auto& slot) { return slot->finished; });
  }
  std::deque<std::unique_ptr<Slot>> left;
  {
    const std::lock_guard lock(mutex_);
    left.swap(queue_);
  }
  for (auto& slot : left) finish(*slot, FinishReason::kCancelled);
  for (auto& slot : active_) finish(*slot, FinishReason::kCancelled);
}

void Scheduler::admit() {
  std::vector<std::unique_ptr<Slot>> dropped;
  {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    std::deque<std::unique_ptr<Slot>> still;
    for (auto& slot : queue_) {
      if (slot->generation->cancelled() || now >= slot->request().deadline) {
        dropped.push_back(std::move(slot));
      } else if (active_.size() < options_.parallel) {
        slot->sequence = engine_.new_sequence();
        slot->usage.queue_seconds = seconds(now - slot->accepted);
        active_.push_back(std::move(slot));
      } else {
        still.push_back(std::move(slot));
      }
    }
    queue_.swap(still);
    running_ = active_.size();
  }
  for (auto& slot : dropped) active_.push_back(std::move(slot));  // prune() ends them
}

void Scheduler::prune() {
  const auto now = Clock::now();
  for (auto& slot : active_) {
    if (slot->generation->cancelled()) {
      finish(*slot, FinishReason::kCancelled);
    } else if (now >= slot->request().deadline) {
      finish(*slot, FinishReason::kCancelled, Error(ErrorCode::kTimeout, "the request's time is up"));
    }
  }
  std::erase_if(active_, [](const auto& slot) { return slot->finished; });
}

// One token of every sequence that is decoding, then as much of the prompts as the batch still holds, oldest first.
void Scheduler::step() {
  auto room = static_cast<std::size_t>(std::max<std::int64_t>(engine_.options().batch, 1));
  for (auto& slot : active_) {
    slot->in_step = slot->prefilled() ? 1 : 0;
    room -= std::min(room, slot->in_step);
  }
  for (auto& slot : active_) {
    if (slot->prefilled()) continue;
    slot->in_step = std::min(room, slot->request().prompt.size() - slot->prompt_done);
    room -= slot->in_step;
  }
  std::vector<Slot*> slots;
  std::vector<Chunk> chunks;
  for (auto& slot : active_) {
    if (slot->in_step == 0) continue;
    slots.push_back(slot.get());
    if (slot->prefilled()) {
      chunks.push_back({slot->sequence.get(), {&slot->last_token, 1}, WantLogits::kLast});
      continue;
    }
    const std::span<const std::int32_t> prompt(slot->request().prompt);
    const bool last = slot->prompt_done + slot->in_step == prompt.size();
    chunks.push_back({slot->sequence.get(), prompt.subspan(slot->prompt_done, slot->in_step),
                      last ? WantLogits::kLast : WantLogits::kNone});
  }
  const Status status = engine_.step(chunks, [&](std::size_t chunk, std::int64_t, std::span<const float> logits) {
    slots[chunk]->logits.assign(logits.begin(), logits.end());
  });
  for (Slot* slot : slots) {
    if (!status.ok()) {
      finish(*slot, FinishReason::kCancelled, status.error());
      continue;
    }
    if (!slot->prefilled()) slot->prompt_done += slot->in_step;
    if (slot->prefilled()) advance(*slot);
  }
}

// From the logits to the next token, its text, and whether the answer is complete.
void Scheduler::advance(Slot& slot) {
  const StopRules& stop = slot.request().stop;
  for (const auto& [id, bias] : slot.request().logit_bias) slot.logits[static_cast<std::size_t>(id)] += bias;
  const std::int32_t token = slot.sampler.sample(slot.logits);
  if (slot.usage.completion_tokens == 0) slot.usage.first_token_seconds = seconds(Clock::now() - slot.accepted);
  ++slot.usage.completion_tokens;
  if (std::ranges::find(stop.ids, token) != stop.ids.end() ||
      (!stop.ignore_eos && std::ranges::binary_search(engine_.end_ids(), token))) {
    return finish(slot, FinishReason::kStop);
  }
  slot.sampler.accept(token);
  slot.last_token = token;
  std::string text = slot.filter.push(slot.text.push(token));
  if (!text.empty()) slot.generation->push({std::move(text), std::nullopt});
  if (slot.filter.found()) return finish(slot, FinishReason::kStop);
  if (stop.max_tokens >= 0 && slot.usage.completion_tokens >= stop.max_tokens) {
    return finish(slot, FinishReason::kLength);
  }
  if (slot.sequence->cache().length() >= slot.sequence->cache().max_positions()) {
    finish(slot, FinishReason::kContextFull);
  }
}

void Scheduler::finish(Slot& slot, FinishReason reason, std::optional<Error> error) {
  slot.finished = true;
  slot.usage.total_seconds = seconds(Clock::now() - slot.accepted);
  std::string text;
  if (reason != FinishReason::kCancelled && !slot.filter.found()) {
    text = slot.filter.push(slot.text.flush());
    text += slot.filter.flush();
  }
  slot.generation->push({std::move(text), GenerationFinish{reason, std::move(error), slot.usage}});
}

}  // namespace sluice::server
