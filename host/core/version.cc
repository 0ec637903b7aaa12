#include "host/core/version.h"

namespace cardcage {

std::string_view version() { return CARDCAGE_VERSION; }

}  // namespace cardcage
