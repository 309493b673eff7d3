// CHECK is for programmers' mistakes only; whatever user data can cause is an Error (see result.h).
#pragma once

namespace sluice::internal {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace sluice::internal

#define SLUICE_CHECK(condition) \
  ((condition) ? (void)0 : ::sluice::internal::check_failed(#condition, __FILE__, __LINE__))
