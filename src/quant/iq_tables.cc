#include "quant/iq_tables.h"

namespace sluice {

#include "quant/iq_tables.inc"

}  // namespace sluice
