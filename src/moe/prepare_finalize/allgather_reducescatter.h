// allgather_reducescatter: every rank publishes its tokens, every rank sees all of them and computes those that chose
// an expert of its own; results go back to the token's rank. No limits on sizes, uneven experts and empty ranks
// allowed: the backend that all others are held to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "comm/shared_group.h"
#include "moe/placement/placement.h"
#include "moe/prepare_finalize/prepare_finalize.h"

namespace sluice::moe {

// A rank's place in its group, shared by the backends of all its layers: layers run one after the other, so one window
// and one counter of steps serve them all. A step that fails or is dropped half-way takes the rank out of the group.
class EpChannel {
 public:
  EpChannel(std::shared_ptr<comm::SharedGroup> group, std::int32_t rank) : group_(std::move(group)), rank_(rank) {}
  comm::SharedGroup& group() const { return *group_; }
  std::int32_t rank() const { return rank_; }

  // The next step's number, the same on all ranks. Errors: kInvalidArgument while a step is in flight; kIo after one
  // failed.
  Result<std::uint32_t> begin();
  void end() { in_flight_ = false; }
  void fail();

 private:
  std::shared_ptr<comm::SharedGroup> group_;
  std::int32_t rank_;
  std::uint32_t epoch_ = 0;
  bool in_flight_ = false;
  bool failed_ = false;
};

struct AllgatherReduceScatterOptions {
  Placement placement;                   // of the routed experts; same ranks as the group
  std::int64_t max_tokens_per_rank = 0;  // of one dispatch, the same on all ranks
  bool exact = false;                    // sums in fp64
};

// Memory that a window needs for layers of this shape.
std::size_t allgather_reducescatter_window_bytes(const PrepareFinalize::Shape& shape, std::int64_t max_tokens_per_rank);

// Standard format. `single` reduction: one unweighted row per token and expert comes back, and the token's rank applies
// the weights and sums in slot order, so results are bit-identical to one rank's. Experts beyond the placement's are
// fused shared ones: each rank has them all, after its routed ones, and computes them for its own tokens.
// Errors: kInvalidArgument if ranks or window do not fit. Steps end with kIo, naming the rank, if a peer dies, leaves
// or passes the group's deadline, and with kCorrupt if it published what cannot be.
Result<std::unique_ptr<PrepareFinalize>> make_allgather_reducescatter(const PrepareFinalize::Shape& shape,
                                                                      std::shared_ptr<EpChannel> channel,
                                                                      const AllgatherReduceScatterOptions& options);

}  // namespace sluice::moe
