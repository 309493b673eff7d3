// The backend of a single rank: every expert is here, rows are handed over in place.
#pragma once

#include <memory>

#include "moe/prepare_finalize/prepare_finalize.h"

namespace sluice::moe {

// Standard format; received rows are the caller's x (and its packed form). Experts may write straight into the layer's
// output. Rows that finalize must weight are summed in slot order, in fp64 if `exact`.
std::unique_ptr<PrepareFinalize> make_no_ep(const PrepareFinalize::Shape& shape, bool exact);

const PrepareFinalizeCapabilities& no_ep_capabilities();

}  // namespace sluice::moe
