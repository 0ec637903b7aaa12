// Records each PCI function's driver before a module binds the function to another one.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "host/core/result.h"

namespace cardcage {

struct DriverRecord {
  std::string driver;           // empty = none
  std::string driver_override;  // the function's override at that time; empty = none
};

// [core] A record takes effect once it is in its file. The kernel chooses drivers again when the node boots, so the
// records of another boot are removed.
class DriverRecords {
 public:
  // Reads `folder`, which is on a tmpfs, has one file per function and is created with the first record.
  DriverRecords(std::filesystem::path folder, std::string boot_id);

  // Returns null if the function has its original driver.
  const DriverRecord* find(const std::string& pci_bus_id) const;
  Status keep(const std::string& pci_bus_id, DriverRecord record);
  // Keeps a record whose file cannot be removed.
  Status forget(const std::string& pci_bus_id);
  // Rewrites files that were removed from outside.
  Status restore() const;

 private:
  void read(const std::filesystem::path& file);
  Status write(const std::string& pci_bus_id, const DriverRecord& record) const;

  const std::filesystem::path folder_;
  const std::string boot_id_;
  std::map<std::string, DriverRecord> records_;
};

}  // namespace cardcage
