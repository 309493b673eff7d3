// Result and error types for the layers: the public ones (include/sluice/result.h, installed) and the two macros that
// keep error handling short. The macros are not public: an installed header must not claim such names.
#pragma once

#include "sluice/result.h"

#define SLUICE_CONCAT_INNER(a, b) a##b
#define SLUICE_CONCAT(a, b) SLUICE_CONCAT_INNER(a, b)

// SLUICE_TRY(expr): returns expr's Error from the calling function if it holds one.
#define SLUICE_TRY(expr)                                                                   \
  do {                                                                                     \
    if (auto sluice_status_ = (expr); !sluice_status_.ok()) return sluice_status_.error(); \
  } while (false)

// SLUICE_ASSIGN(auto x, expr): x = value of expr, or returns its Error.
#define SLUICE_ASSIGN(lhs, expr) SLUICE_ASSIGN_IMPL(SLUICE_CONCAT(sluice_result_, __LINE__), lhs, expr)
#define SLUICE_ASSIGN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                       \
  if (!tmp.ok()) return tmp.error();       \
  lhs = std::move(tmp).value()
