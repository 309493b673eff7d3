// Memory that the layers of one model share: each layer's forward uses it and leaves it behind for the next.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.h"

namespace sluice::moe {

// Named growable buffers, 64-byte aligned, contents undefined after every get(). Buffers grow and stay; the layers cut
// their tokens into chunks so that the activations of a chunk stay near chunk_bytes(), whatever the batch.
// Not thread-safe: one forward at a time holds it through Lease; a second one at the same time is told so.
class Workspace {
 public:
  enum class Slot : std::uint8_t {
    kLogits,      // router: logits of the tokens in flight
    kRouterTask,  // router: per-thread packed rows and counters
    kRouting,     // routed ids
    kWeights,     // routed weights
    kSharedGate,  // weights of the shared expert
    kPackedF32,   // token rows packed as ActFormat::kF32
    kPackedQ8,    // token rows packed as ActFormat::kQ8
    kGate,        // per-thread tiles of the gate/up products and gathered rows
    kActivation,  // activations [rows, I], then packed
    kPackedActivation,
    kDown,        // per-thread tiles of the down products
    kPadded,      // token rows padded for the backend, and its padded results
    kExpertRows,  // experts' results where they cannot go straight to the layer's output
    kShared,      // the shared expert's results where it runs apart
    kCount,
  };

  static constexpr std::int64_t kDefaultChunkBytes = std::int64_t{64} << 20;

  explicit Workspace(std::int64_t chunk_bytes = kDefaultChunkBytes) : chunk_bytes_(chunk_bytes) {}
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // At least `bytes` bytes; earlier pointers of the same slot are dead. Errors: kResource, naming the size.
  Result<std::byte*> get(Slot slot, std::size_t bytes);
  template <typename T>
  Result<T*> get(Slot slot, std::int64_t count) {
    SLUICE_ASSIGN(std::byte * bytes, get(slot, static_cast<std::size_t>(count) * sizeof(T)));
    return reinterpret_cast<T*>(bytes);
  }
  std::int64_t chunk_bytes() const { return chunk_bytes_; }
  // Tokens of one chunk when each needs this many bytes; at least 1.
  std::int64_t chunk_tokens(std::int64_t bytes_per_token) const {
    const std::int64_t tokens = chunk_bytes_ / (bytes_per_token > 0 ? bytes_per_token : 1);
    return tokens > 0 ? tokens : 1;
  }
  // Bytes held now.
  std::size_t allocated() const;

  // Exclusive use until destroyed.
  class Lease {
   public:
    explicit Lease(Workspace& workspace) : workspace_(&workspace) {}
    Lease(Lease&& other) noexcept : workspace_(other.workspace_) { other.workspace_ = nullptr; }
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (workspace_ != nullptr) workspace_->in_use_.store(false, std::memory_order_release);
    }

   private:
    Workspace* workspace_;
  };
  // Errors: kInvalidArgument if another forward holds it.
  Result<Lease> acquire();

 private:
  struct Buffer {
    std::byte* data = nullptr;
    std::size_t size = 0;
  };
  std::int64_t chunk_bytes_;
  std::array<Buffer, static_cast<std::size_t>(Slot::kCount)> buffers_;
  std::atomic<bool> in_use_{false};
};

}  // namespace sluice::moe
