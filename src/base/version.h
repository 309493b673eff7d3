// What this build is: for --version, bug reports and the server's /version.
#pragma once

#include <string_view>

namespace sluice {

// Fixed at build time; views of string literals.
struct BuildInfo {
  std::string_view version;     // "0.1.0"
  std::string_view commit;      // 12 hex digits, "-dirty" if files differed from it; "unknown" without git
  std::string_view compiler;    // "GCC 12.2.0"
  std::string_view build_type;  // "Release"
  std::string_view sanitizers;  // "address,undefined"; empty in what users run
};

BuildInfo build_info();

}  // namespace sluice
