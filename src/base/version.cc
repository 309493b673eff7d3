#include "base/version.h"

#include "generated/version.h"  // cmake/SluiceVersion.cmake

namespace sluice {

BuildInfo build_info() {
  return {SLUICE_VERSION, SLUICE_COMMIT, SLUICE_COMPILER, SLUICE_BUILD_TYPE, SLUICE_SANITIZERS};
}

}  // namespace sluice
