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

// Named growable buffers, 64-byte aligned, contents undefined after every get(). Buffers grow and stay; what they can
// grow to is bounded by the callers, which work in chunks of tokens (see kMaxWorkspaceBytes).
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

  Workspace() = default;
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
  std::array<Buffer, static_cast<std::size_t>(Slot::kCount)> buffers_;
  std::atomic<bool> in_use_{false};
};

// Callers cut their tokens into chunks so that the activations of one chunk stay near this.
inline constexpr std::int64_t kMaxWorkspaceBytes = std::int64_t{64} << 20;

}  // namespace sluice::moe
