#include "tests/fakes/source_folder.h"

namespace cardcage {

std::filesystem::path source_folder() { return CARDCAGE_SOURCE_DIR; }

}  // namespace cardcage
