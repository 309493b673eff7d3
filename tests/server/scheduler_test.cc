// The scheduler on the embedded model: answers do not depend on the company, and nothing that was accepted is lost.
#include "server/scheduler.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <limits>
#include <string>

namespace sluice::server {
namespace {

using namespace std::chrono_literals;
constexpr auto kDeadline = 60s;

std::unique_ptr<Engine> load(std::int64_t batch) {
  EngineOptions options;
  options.isa = Isa::kScalar;  // the bits of a row do not depend on the other rows
  options.batch = batch;
  auto engine = Engine::load(Env::system(), "", options);
  EXPECT_TRUE(engine.ok());
  return std::move(engine).value();
}

struct Answer {
  std::string text;
  GenerationFinish finish;
};

// One generation with its reader.
class Client {
 public:
  explicit Client(GenerationRequest request)
      : generation(std::make_shared<Generation>(std::move(request), [this] {
          const std::lock_guard lock(mutex_);
          ++pushes_;
          woken_.notify_all();
        })) {}

  // Reads to the end, or to the deadline (then finish holds an error).
  Answer read() {
    Answer answer;
    const auto end = std::chrono::steady_clock::now() + kDeadline;
    for (int seen = 0;; ++seen) {
      {
        std::unique_lock lock(mutex_);
        if (!woken_.wait_until(lock, end, [&] { return pushes_ > seen; })) {
          answer.finish.error = Error(ErrorCode::kTimeout, "no event came");
          return answer;
        }
      }
      std::optional<GenerationEvent> event = generation->pop();
      EXPECT_TRUE(event.has_value());
      answer.text += event->text;
      if (event->finish) {
        answer.finish = *event->finish;
        return answer;
      }
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable woken_;
  int pushes_ = 0;

 public:
  std::shared_ptr<Generation> generation;
};

GenerationRequest request(const Engine& engine, const std::string& prompt, std::uint64_t seed, std::int64_t tokens) {
  GenerationRequest wanted;
  wanted.prompt = engine.tokenizer()->encode(prompt, true).value();
  wanted.sampling.seed = seed;
  wanted.stop.max_tokens = tokens;
  return wanted;
}

TEST(Scheduler, AnswersAreThoseOfTheEngineAlone) {
  const auto engine = load(7);  // prompts are split, and their pieces share passes with decoding sequences
  std::vector<GenerationRequest> requests;
  for (std::uint64_t i = 0; i < 5; ++i) {
    requests.push_back(request(*engine, std::string(i, '\n') + "Once upon a time there was a", i, 6 + 3 * i));
  }
  std::vector<std::string> alone;
  for (const GenerationRequest& wanted : requests) {
    std::string text;
    const auto sequence = engine->new_sequence();
    const auto result = engine->generate(*sequence, wanted.prompt, wanted.sampling, wanted.stop,
                                         [&](std::string_view piece) { return text += piece, true; }, {});
    ASSERT_TRUE(result.ok());
    alone.push_back(text);
  }
  Scheduler scheduler(*engine, {.parallel = 3, .max_queue = 8});
  std::vector<std::unique_ptr<Client>> clients;
  for (const GenerationRequest& wanted : requests) {
    clients.push_back(std::make_unique<Client>(wanted));
    ASSERT_TRUE(scheduler.submit({clients.back()->generation}).ok());
  }
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const Answer answer = clients[i]->read();
    ASSERT_FALSE(answer.finish.error.has_value()) << answer.finish.error->message();
    EXPECT_EQ(answer.text, alone[i]) << i;
    EXPECT_EQ(answer.finish.usage.prompt_tokens, static_cast<std::int64_t>(requests[i].prompt.size()));
    EXPECT_GT(answer.finish.usage.completion_tokens, 0);
    EXPECT_LE(answer.finish.usage.first_token_seconds, answer.finish.usage.total_seconds);
  }
}

TEST(Scheduler, AFullQueueRefusesAllOfARequest) {
  const auto engine = load(512);
  Scheduler scheduler(*engine, {.parallel = 1, .max_queue = 2});
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::shared_ptr<Generation>> three;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<Client>(request(*engine, "Once", 1, 4)));
    three.push_back(clients.back()->generation);
  }
  EXPECT_FALSE(scheduler.submit(three).ok());
  EXPECT_EQ(scheduler.waiting(), 0U);
  three.pop_back();
  EXPECT_TRUE(scheduler.submit(three).ok());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(clients[static_cast<std::size_t>(i)]->read().finish.error.has_value(), false);
  EXPECT_FALSE(clients[2]->generation->pop().has_value());
}

TEST(Scheduler, CancelDeadlineAndDrain) {
  const auto engine = load(512);
  Scheduler scheduler(*engine, {.parallel = 1, .max_queue = 8});
  GenerationRequest endless = request(*engine, "Once upon a time", 1, -1);
  endless.stop.ignore_eos = true;
  Client running(endless);
  Client queued(endless);
  endless.deadline = std::chrono::steady_clock::now();
  Client late(endless);
  ASSERT_TRUE(scheduler.submit({running.generation, queued.generation, late.generation}).ok());
  // Both leave the queue although the only place is taken.
  queued.generation->cancel();
  EXPECT_EQ(queued.read().finish.reason, FinishReason::kCancelled);
  const Answer timed_out = late.read();
  ASSERT_TRUE(timed_out.finish.error.has_value());
  EXPECT_EQ(timed_out.finish.error->message(), "the request's time is up");
  scheduler.drain();
  Client refused(request(*engine, "Once", 1, 4));
  EXPECT_FALSE(scheduler.submit({refused.generation}).ok());
  running.generation->cancel();
  const Answer stopped = running.read();
  EXPECT_EQ(stopped.finish.reason, FinishReason::kCancelled);
  EXPECT_FALSE(stopped.finish.error.has_value());
}

TEST(Scheduler, BiasAndStopStringsCount) {
  const auto engine = load(512);
  Scheduler scheduler(*engine, {});
  GenerationRequest forced = request(*engine, "Once upon a time", 1, 5);
  const std::int32_t word = engine->tokenizer()->encode("dragon", false).value().front();
  forced.logit_bias = {{word, 100.0F}};
  Client biased(forced);
  forced.stop.strings = {engine->tokenizer()->decode(std::vector<std::int32_t>{word}, true)};
  Client stopped(forced);
  ASSERT_TRUE(scheduler.submit({biased.generation, stopped.generation}).ok());
  const Answer answer = biased.read();
  EXPECT_EQ(answer.finish.reason, FinishReason::kLength);
  EXPECT_EQ(answer.finish.usage.completion_tokens, 5);
  EXPECT_NE(answer.text.find(forced.stop.strings[0]), std::string::npos);
  const Answer cut = stopped.read();
  EXPECT_EQ(cut.finish.reason, FinishReason::kStop);
  EXPECT_EQ(cut.text.find(forced.stop.strings[0]), std::string::npos);
}

TEST(Scheduler, TheEndCancelsWhatIsLeft) {
  const auto engine = load(512);
  GenerationRequest endless = request(*engine, "Once upon a time", 1, -1);
  endless.stop.ignore_eos = true;
  Client running(endless);
  Client queued(endless);
  {
    Scheduler scheduler(*engine, {.parallel = 1, .max_queue = 8});
    ASSERT_TRUE(scheduler.submit({running.generation, queued.generation}).ok());
  }
  EXPECT_EQ(running.read().finish.reason, FinishReason::kCancelled);
  EXPECT_EQ(queued.read().finish.reason, FinishReason::kCancelled);
}

TEST(Scheduler, RefusesWhatWouldFailAPass) {
  const auto engine = load(7);
  Scheduler scheduler(*engine, {.parallel = 2, .max_queue = 8});
  const GenerationRequest good = request(*engine, "Once", 1, 4);
  std::vector<GenerationRequest> bad(6, good);
  bad[0].prompt.clear();
  bad[1].prompt.assign(static_cast<std::size_t>(engine->context()), 1);
  bad[2].prompt.back() = static_cast<std::int32_t>(engine->spec().vocab_size);
  bad[3].logit_bias = {{-1, 1.0F}};
  bad[4].logit_bias = {{static_cast<std::int32_t>(engine->spec().vocab_size), 1.0F}};
  bad[5].sampling.temperature = std::numeric_limits<float>::quiet_NaN();
  for (const GenerationRequest& wanted : bad) {
    Client client(wanted);
    const Status status = scheduler.submit({client.generation});
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument) << status.error().message();
  }
  Client client(good);
  ASSERT_TRUE(scheduler.submit({client.generation}).ok());
  EXPECT_FALSE(client.read().finish.error.has_value());
}

}  // namespace
}  // namespace sluice::server
