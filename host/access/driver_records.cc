#include "host/access/driver_records.h"

#include <sstream>

#include "host/core/file.h"
#include "host/core/log.h"

namespace cardcage {

namespace fs = std::filesystem;

static constexpr std::size_t kMaxRecord = 16u << 10;

DriverRecords::DriverRecords(fs::path folder, std::string boot_id)
    : folder_(std::move(folder)), boot_id_(std::move(boot_id)) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder_, none))
    if (!entry.path().filename().native().starts_with('.')) read(entry.path());
}

// The file has three lines: boot, driver, override.
void DriverRecords::read(const fs::path& file) {
  const auto content = read_file(file, kMaxRecord);
  std::istringstream lines(content.value_or(""));
  std::string boot;
  DriverRecord record;
  if (!std::getline(lines, boot) || !std::getline(lines, record.driver) ||
      !std::getline(lines, record.driver_override)) {
    log(LogLevel::kError, "the record of a driver is ignored: it cannot be read",
        {{"file", file.native()}, {"error", content ? "it is incomplete" : content.error().message}});
    return;
  }
  if (boot != boot_id_) {
    std::error_code ignored;
    fs::remove(file, ignored);
    return;
  }
  records_[file.filename().native()] = std::move(record);
}

const DriverRecord* DriverRecords::find(const std::string& pci_bus_id) const {
  const auto entry = records_.find(pci_bus_id);
  return entry == records_.end() ? nullptr : &entry->second;
}

Status DriverRecords::keep(const std::string& pci_bus_id, DriverRecord record) {
  if (auto written = write(pci_bus_id, record); !written) return written;
  records_[pci_bus_id] = std::move(record);
  return {};
}

// Writes without a sync: the record need not outlive the node.
Status DriverRecords::write(const std::string& pci_bus_id, const DriverRecord& record) const {
  if (auto made = make_folder(folder_, 0700); !made) return made;
  const std::string content = fmt::format("{}\n{}\n{}\n", boot_id_, record.driver, record.driver_override);
  return write_file_atomically(folder_ / pci_bus_id, content, 0600, /*durable=*/false);
}

Status DriverRecords::restore() const {
  std::error_code unknown;
  for (const auto& [pci_bus_id, record] : records_) {
    if (fs::exists(folder_ / pci_bus_id, unknown)) continue;
    if (auto written = write(pci_bus_id, record); !written) return written;
  }
  return {};
}

Status DriverRecords::forget(const std::string& pci_bus_id) {
  std::error_code failed;
  fs::remove(folder_ / pci_bus_id, failed);
  if (failed) return fail_errno(failed.value(), fmt::format("cannot remove '{}'", (folder_ / pci_bus_id).native()));
  records_.erase(pci_bus_id);
  return {};
}

}  // namespace cardcage
