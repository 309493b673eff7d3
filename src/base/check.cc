#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace sluice::internal {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "sluice: internal error: %s at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace sluice::internal
