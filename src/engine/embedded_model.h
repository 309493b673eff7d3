// The default model that the program carries (models/tales-moe, option SLUICE_EMBED_MODEL).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/env.h"

namespace sluice {

// Files of the embedded model's folder by name, pointing into the program's read-only data; empty if this build carries
// none. Feed them to open_checkpoint_memory().
std::map<std::string, std::shared_ptr<const Bytes>, std::less<>> embedded_model_files();

}  // namespace sluice
