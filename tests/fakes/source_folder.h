// The folder of the sources, for tests that read golden files and documents.
#pragma once

#include <filesystem>

namespace cardcage {

std::filesystem::path source_folder();

}  // namespace cardcage
