// The layer on several ranks against the layer on one: the same bits.
#include "moe/prepare_finalize/allgather_reducescatter.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <new>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "moe/support/random_layer.h"

namespace sluice::moe {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kMaxTokens = 16;

// What all ranks of a test share.
struct Cluster {
  const RandomLayer& layer;
  Plan plan;  // of one rank
  Placement placement;
  PrepareFinalize::Shape shape;
  std::shared_ptr<comm::SharedGroup> group;
};

Cluster make_cluster(const RandomLayer& layer, Isa isa, std::int32_t ranks, PlacementStrategy strategy,
                     const std::string& shared = "auto", milliseconds deadline = milliseconds(20000)) {
  PlanInputs inputs = layer.inputs(isa);
  inputs.wishes.shared_experts = shared;
  auto plan = make_plan(inputs);
  auto placement = Placement::create(strategy, layer.spec.routing.num_experts, ranks);
  EXPECT_TRUE(plan.ok() && placement.ok());
  const std::int32_t fused = plan->num_experts - layer.spec.routing.num_experts;
  const PrepareFinalize::Shape shape = {layer.spec.hidden_size, plan->num_experts, layer.spec.routing.top_k + fused};
  auto group = comm::SharedGroup::create(ranks, allgather_reducescatter_window_bytes(shape, kMaxTokens), deadline);
  EXPECT_TRUE(group.ok());
  return {layer, *plan, *placement, shape, *group};
}

// One rank: only its experts' weights, its own threads and backend.
class Rank {
 public:
  Rank(const Cluster& cluster, std::int32_t rank) : pool_(1) {
    Plan plan = cluster.plan;
    plan.prepare_finalize = "allgather_reducescatter";
    plan.ep_size = cluster.group->size();
    plan.ep_rank = rank;
    const std::int32_t held = cluster.placement.num_local(rank);
    plan.num_local_experts = held + cluster.plan.num_experts - cluster.placement.num_experts();
    std::vector<ExpertMatrices> experts;
    for (std::int32_t slot = 0; slot < held; ++slot) {
      experts.push_back(
          cluster.layer.experts[static_cast<std::size_t>(index(cluster.placement.global(rank, LocalExpert{slot})))]);
    }
    MoeWeights weights = cluster.layer.weights;
    weights.experts = std::make_shared<MappedExpertStore>(std::move(experts));
    auto channel = std::make_shared<EpChannel>(cluster.group, rank);
    auto backend = make_allgather_reducescatter(
        cluster.shape, channel,
        {.placement = cluster.placement, .max_tokens_per_rank = kMaxTokens, .exact = plan.isa == Isa::kScalar});
    if (!backend.ok()) {
      ADD_FAILURE() << backend.error().message();
      return;
    }
    auto moe = FusedMoe::create_with(std::move(*backend), cluster.layer.spec, weights, plan, pool_);
    if (moe.ok()) {
      moe_ = std::move(*moe);
    } else {
      ADD_FAILURE() << moe.error().message();
    }
  }

  Status forward(const float* x, std::int64_t tokens, float* out) { return moe_->forward(x, tokens, out, {}); }

 private:
  ThreadPool pool_;
  std::unique_ptr<FusedMoe> moe_;
};

// Tokens of each rank in each step: uneven, none included.
std::vector<std::vector<std::int64_t>> uneven_steps(std::int32_t ranks, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<std::int64_t>> steps(6, std::vector<std::int64_t>(static_cast<std::size_t>(ranks)));
  for (auto& step : steps) {
    for (std::int64_t& tokens : step) tokens = random() % 3 == 0 ? 0 : random() % (kMaxTokens + 1);
  }
  steps[1].assign(static_cast<std::size_t>(ranks), 0);
  steps[2].assign(static_cast<std::size_t>(ranks), 0);
  steps[2].back() = kMaxTokens;
  return steps;
}

void expect_same_bits(const RandomLayer& layer, Isa isa, std::int32_t ranks, PlacementStrategy strategy,
                      const std::string& shared = "auto") {
  const Cluster cluster = make_cluster(layer, isa, ranks, strategy, shared);
  const auto steps = uneven_steps(ranks, static_cast<std::uint32_t>(ranks));
  const std::vector<float> x = layer.rows(kMaxTokens * ranks, 5);
  const LayerRun want = run_layer(layer, isa, x, {.shared = shared});
  std::vector<std::string> faults(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Rank here(cluster, rank);
      const auto first = static_cast<std::size_t>(rank * kMaxTokens * layer.spec.hidden_size);
      std::string& fault = faults[static_cast<std::size_t>(rank)];
      for (const auto& step : steps) {
        const std::int64_t tokens = step[static_cast<std::size_t>(rank)];
        const auto floats = static_cast<std::size_t>(tokens * layer.spec.hidden_size);
        std::vector<float> out(floats + 1, -7.0F);
        const Status status = here.forward(x.data() + first, tokens, out.data());
        if (!status.ok()) {
          fault = status.error().message();
          return;
        }
        if (std::memcmp(out.data(), want.out.data() + first, floats * sizeof(float)) != 0) fault = "other bits";
        if (out.back() != -7.0F) fault = "wrote behind the output";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(faults, std::vector<std::string>(static_cast<std::size_t>(ranks)))
      << isa_name(isa) << ", " << ranks << " ranks, " << name_of(strategy) << ", shared " << shared;
}

TEST(AllgatherReduceScatter, GivesTheBitsOfOneRank) {
  std::vector<RandomLayer> layers;
  layers.emplace_back(simple_spec(72, 56, 8, 3), 11);
  layers.emplace_back(simple_spec(37, 29, 5, 2), 12);  // odd sizes; fewer experts than ranks
  layers.emplace_back(simple_spec(256, 256, 12, 4), 13, LayerTypes{DType::kQ4_K, DType::kQ4_K, DType::kQ6_K});
  for (const RandomLayer& layer : layers) {
    for (const Isa isa : available_isas()) {
      for (const std::int32_t ranks : {1, 2, 3, 4, 8}) {
        expect_same_bits(layer, isa, ranks, PlacementStrategy::kLinear);
        expect_same_bits(layer, isa, ranks, PlacementStrategy::kRoundRobin);
      }
    }
  }
}

// Fused shared experts run on the token's own rank, once; those beside never leave it.
TEST(AllgatherReduceScatter, SharedExpertsCountOnce) {
  MoeSpec spec = simple_spec(64, 32, 8, 3);
  spec.shared = {.count = 2, .intermediate_size = 64, .gated = true};
  const RandomLayer layer(spec, 15);
  for (const Isa isa : available_isas()) {
    for (const std::int32_t ranks : {2, 3, 8}) {
      expect_same_bits(layer, isa, ranks, PlacementStrategy::kLinear, "fused");
      // One rank sums routed and shared experts in one go, in fp64 in the exact mode, so there only the others agree.
      if (isa != Isa::kScalar) expect_same_bits(layer, isa, ranks, PlacementStrategy::kLinear, "beside");
    }
  }
}

// Ranks as processes: results come back over the shared memory, and a rank that is killed between two steps is named.
TEST(AllgatherReduceScatter, ProcessesGiveTheSameBitsAndADeadOneIsNamed) {
  constexpr std::int32_t kRanks = 3;
  const RandomLayer layer(simple_spec(72, 56, 8, 3), 11);
  const Cluster cluster = make_cluster(layer, Isa::kScalar, kRanks, PlacementStrategy::kLinear);
  const std::vector<float> x = layer.rows(4, 3);
  const LayerRun want = run_layer(layer, Isa::kScalar, x);
  std::vector<pid_t> children;
  cluster.group->join(0);
  for (std::int32_t rank = 1; rank < kRanks; ++rank) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      cluster.group->join(rank);
      Rank here(cluster, rank);
      std::vector<float> out(x.size());
      const bool same = here.forward(x.data(), 4, out.data()).ok() &&
                        std::memcmp(out.data(), want.out.data(), x.size() * sizeof(float)) == 0;
      if (rank == 2) ::raise(same ? SIGKILL : SIGTERM);
      const bool fails = !here.forward(x.data(), 4, out.data()).ok();
      ::_exit(same && fails ? 0 : 1);
    }
    children.push_back(child);
  }
  Rank here(cluster, 0);
  std::vector<float> out(x.size());
  ASSERT_TRUE(here.forward(x.data(), 4, out.data()).ok());
  EXPECT_EQ(out, want.out);
  const Status second = here.forward(x.data(), 4, out.data());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().message(), "rank 2 has died; it was waited for in dispatch");
  const Status third = here.forward(x.data(), 4, out.data());
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().message(), "rank 0 left its group: an earlier step failed");
  int status = 0;
  ASSERT_EQ(::waitpid(children[0], &status, 0), children[0]);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  ASSERT_EQ(::waitpid(children[1], &status, 0), children[1]);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(AllgatherReduceScatter, RefusesWhatDoesNotFit) {
  const RandomLayer layer(simple_spec(40, 24, 8, 2), 1);
  const Cluster cluster = make_cluster(layer, Isa::kScalar, 2, PlacementStrategy::kLinear, "auto", milliseconds(50));
  const auto make = [&](std::int32_t rank, AllgatherReduceScatterOptions options) {
    return make_allgather_reducescatter(cluster.shape, std::make_shared<EpChannel>(cluster.group, rank), options);
  };
  EXPECT_FALSE(make(2, {.placement = cluster.placement, .max_tokens_per_rank = 1}).ok());
  EXPECT_FALSE(make(0, {.placement = cluster.placement, .max_tokens_per_rank = 0}).ok());
  EXPECT_FALSE(make(0, {.placement = cluster.placement, .max_tokens_per_rank = 1 << 20}).ok());
  const auto other = Placement::create(PlacementStrategy::kLinear, 8, 3);
  EXPECT_FALSE(make(0, {.placement = *other, .max_tokens_per_rank = 1}).ok());

  // A step in flight refuses another one; a dropped one takes the rank out, and the peer learns of it.
  auto first = make(0, {.placement = cluster.placement, .max_tokens_per_rank = kMaxTokens});
  auto second = make(1, {.placement = cluster.placement, .max_tokens_per_rank = kMaxTokens});
  ASSERT_TRUE(first.ok() && second.ok());
  {
    auto handle = (*first)->dispatch_send({});
    ASSERT_TRUE(handle.ok());
    EXPECT_FALSE((*first)->dispatch_send({}).ok());
  }
  auto handle = (*second)->dispatch_send({});
  ASSERT_TRUE(handle.ok());
  auto received = (*second)->dispatch_recv(*handle);
  ASSERT_TRUE(received.ok()) << received.error().message();  // what rank 0 published still counts
  EXPECT_EQ(received->rows, 0);
  ASSERT_TRUE((*second)->combine_send(*handle, {.form = WeightAndReduce::kByFinalize}).ok());
  const Status combined = (*second)->combine_recv(*handle, nullptr);
  ASSERT_FALSE(combined.ok());
  EXPECT_EQ(combined.error().message(), "rank 0 has left the group; it was waited for in combine");
}

}  // namespace
}  // namespace sluice::moe
