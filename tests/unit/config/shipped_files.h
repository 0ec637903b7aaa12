// The files of the checkout, and the environment that those below config/ refer to.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "host/core/file.h"
#include "tests/fakes/source_folder.h"

namespace cardcage {

inline const std::filesystem::path kSource = source_folder();

inline std::string shipped(const std::string& file) { return read_file(kSource / file, 100'000).value(); }

// Returns the elements of `all` that are not in `others`.
inline std::set<std::string> without(std::set<std::string> all, const std::set<std::string>& others) {
  for (const std::string& other : others) all.erase(other);
  return all;
}

inline std::optional<std::string> environment(const std::string& name) {
  if (name == "NODE_NAME") return "node1";
  if (name == "POD_UID") return "0f1d2c3b-aaaa-bbbb-cccc-123456789012";
  if (name == "CARDCAGE_DEMO_DIR") return "/tmp/demo";
  if (name == "CARDCAGE_MODULES_DIR") return "/usr/lib/cardcage/modules";
  return std::nullopt;
}

}  // namespace cardcage
