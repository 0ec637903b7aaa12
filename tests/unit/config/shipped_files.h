// The files of the checkout, and the environment that those below config/ refer to.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "host/core/file.h"
#include "tests/fakes/source_folder.h"

namespace cardcage {

inline const std::filesystem::path kSource = source_folder();

inline std::string shipped(const std::string& file) { return read_file(kSource / file, 100'000).value(); }

inline std::optional<std::string> environment(const std::string& name) {
  if (name == "NODE_NAME") return "node1";
  if (name == "POD_UID") return "0f1d2c3b-aaaa-bbbb-cccc-123456789012";
  if (name == "CARDCAGE_DEMO_DIR") return "/tmp/demo";
  if (name == "CARDCAGE_MODULES_DIR") return "/usr/lib/cardcage/modules";
  return std::nullopt;
}

}  // namespace cardcage
