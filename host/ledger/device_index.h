// Finds the claims that have a device.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/ledger/record.h"

namespace cardcage {

// Indexed by the module's id for the device, and by its name in the module and at the driver.
class DeviceIndex {
 public:
  using Records = std::vector<std::shared_ptr<const ClaimRecord>>;

  void add(const std::shared_ptr<const ClaimRecord>& record);
  // Takes the record that was added, not a copy of it.
  void remove(const std::shared_ptr<const ClaimRecord>& record);
  // Returns each record once, in the order of keys.
  Records find(std::string_view module, std::string_view device_id, std::string_view driver,
               std::string_view device) const;

 private:
  // The module or driver that names the device, and the name. Lookups copy neither, because a list of many devices
  // makes several lookups for each of them.
  using Key = std::pair<std::string, std::string>;
  using KeyView = std::pair<std::string_view, std::string_view>;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const KeyView& key) const {
      const std::hash<std::string_view> hash;
      return hash(key.first) * 31 + hash(key.second);
    }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const KeyView& a, const KeyView& b) const { return a == b; }
  };
  using Map = std::unordered_map<Key, Records, Hash, Equal>;

  template <class Visit>
  void each(const ClaimRecord& record, Visit visit);

  Map ids_, names_in_module_, names_at_driver_;
};

}  // namespace cardcage
