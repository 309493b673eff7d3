// A group of ranks on one host and the memory that they share. Ranks are threads of one process or processes that were
// forked after create(); both see the same mapping, so there is one implementation.
//
// The memory is an anonymous file that never has a name: when the last rank ends, even by kill -9, nothing is left.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::comm {

// A flag of one writer that only grows. Its own cache line: waiters of one flag don't slow the writer of the next.
struct alignas(64) EpochFlag {
  std::atomic<std::uint32_t> epoch{0};
  std::atomic<std::uint32_t> sleepers{0};  // the writer makes a system call only if somebody sleeps
};

// What all ranks must agree on, as text.
struct AgreedField {
  std::string_view name;
  std::string_view value;
};

// Thread-safe: rank r's own calls come from one thread, different ranks' from different ones.
class SharedGroup {
 public:
  static constexpr std::int32_t kMaxRanks = 64;
  // Text of the fields given to agree().
  static constexpr std::size_t kMaxAgreedBytes = std::size_t{16} << 10;

  // window_bytes: memory of each rank, rounded up to pages, zeroed. Errors: kInvalidArgument (sizes), kResource.
  static Result<std::shared_ptr<SharedGroup>> create(std::int32_t ranks, std::size_t window_bytes,
                                                     std::chrono::milliseconds deadline);
  ~SharedGroup();
  SharedGroup(const SharedGroup&) = delete;
  SharedGroup& operator=(const SharedGroup&) = delete;

  std::int32_t size() const { return ranks_; }
  // The part of the shared memory that belongs to a rank; 64-byte aligned, everyone may read and write it.
  std::span<std::byte> window(std::int32_t rank) const;

  // Says that `rank` is the calling process: whoever waits for it then learns at once that it died.
  void join(std::int32_t rank);
  // Compares texts over the group, before anything is allocated. Each rank calls it once, at the start. Errors:
  // kInvalidArgument naming the rank, the first field that differs and both values; and those of wait().
  Status agree(std::int32_t rank, std::span<const AgreedField> fields);

  // Release: what the caller wrote before is seen by whoever sees the epoch.
  static void publish(EpochFlag& flag, std::uint32_t epoch);
  // Until the flag, which `writer` publishes, reaches the epoch (modulo 2^32). Spins briefly, then sleeps, so that more
  // ranks than cores don't collapse. Errors: kIo, naming `writer` and `what`: it died, it gave up, or the deadline
  // passed.
  Status wait(const EpochFlag& flag, std::uint32_t epoch, std::int32_t writer, std::string_view what) const;
  // This rank takes part no longer: the others' waits for it end with an error.
  void leave(std::int32_t rank);

 private:
  struct Control;
  SharedGroup(std::int32_t ranks, std::size_t window_bytes, std::chrono::milliseconds deadline, std::byte* memory,
              std::size_t bytes);
  Control& control(std::int32_t rank) const;
  Status check_alive(std::int32_t rank, std::string_view what) const;

  std::int32_t ranks_;
  std::size_t window_bytes_;
  std::chrono::milliseconds deadline_;
  std::byte* memory_;
  std::size_t bytes_;
};

}  // namespace sluice::comm
