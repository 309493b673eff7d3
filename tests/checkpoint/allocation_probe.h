// Watches operator new of the whole test program.
#pragma once

#include <cstddef>

namespace sluice::testing {

// Bytes of the largest single allocation since the probe was made, by any thread.
class AllocationProbe {
 public:
  AllocationProbe();
  std::size_t largest() const;
};

}  // namespace sluice::testing
