// Records which driver each PCI function had before a module had it bound to another one.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "host/core/result.h"

namespace cardcage {

struct DriverRecord {
  std::string driver;           // empty = none
  std::string driver_override;  // that the function had then; empty = none
};

// [core] A record is in its file before it counts. The kernel chooses drivers anew when the node boots, so the records
// of another boot are removed.
class DriverRecords {
 public:
  // Reads `folder`, which is on a tmpfs, has one file per function and is made with the first.
  DriverRecords(std::filesystem::path folder, std::string boot_id);

  // Null if the function has its own driver.
  const DriverRecord* find(const std::string& pci_bus_id) const;
  Status keep(const std::string& pci_bus_id, DriverRecord record);
  // A record whose file cannot be removed stays.
  Status forget(const std::string& pci_bus_id);
  // Writes the files again that somebody removed.
  Status restore() const;

 private:
  void read(const std::filesystem::path& file);
  Status write(const std::string& pci_bus_id, const DriverRecord& record) const;

  const std::filesystem::path folder_;
  const std::string boot_id_;
  std::map<std::string, DriverRecord> records_;
};

}  // namespace cardcage
