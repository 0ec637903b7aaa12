// Entries of the option `devices` of the generic module, and the rules that serve them, as an import writes them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/import/settings.h"
#include "ctl/import/toml.h"

namespace cardcage {

bool is_pattern(std::string_view path);

struct DeviceEntry {
  std::string name;
  std::vector<std::string> paths;
  bool together = false;
  std::vector<std::string> more;  // further lines: `usb = "0403:6001"`
};

// The tables of the result.
class DeviceEntries {
 public:
  // Returns the name that the entry gets: a DNS label of its own, made of the wanted one.
  std::string add(DeviceEntry entry, const std::string& from);
  // Adds a rule for the devices of these kinds.
  void serve(const std::string& resource, const std::vector<std::string>& kinds, std::int64_t replicas,
             const std::string& from);
  ImportDraft finish(std::string form);

 private:
  std::string free_name(std::string_view wanted);

  std::map<std::string, int> names_;
  std::vector<TomlTable> entries_, rules_;
};

// Returns a count of containers, 1 if none is given, or reports that it is out of bounds.
std::int64_t checked_count(const std::optional<Given<std::int64_t>>& given, ImportRecord& record);

}  // namespace cardcage
