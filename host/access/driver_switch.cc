#include "host/access/driver_switch.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

// Returns the line of a sysfs file; empty for "(null)", which means no override.
std::string line_of(std::string content) {
  content.resize(std::min(content.find('\n'), content.size()));
  return content == "(null)" ? "" : content;
}

std::string driver_for(const std::string& name) { return name == kNoDriver ? "" : name; }

}  // namespace

DriverSwitch::DriverSwitch(Ways ways, std::string pci_bus_id)
    : ways_(std::move(ways)),
      pci_bus_id_(std::move(pci_bus_id)),
      function_(ways_.sysfs / "bus/pci/devices" / pci_bus_id_) {}

Status DriverSwitch::check() const {
  std::error_code absent;
  if (!fs::is_directory(function_, absent))
    return fail(Code::kNotFound, "there is no PCI function {} on this node", pci_bus_id_);
  return {};
}

std::string DriverSwitch::driver() const {
  std::error_code none;
  return fs::read_symlink(function_ / "driver", none).filename();
}

Task<Status> DriverSwitch::bind(std::string wanted) {
  if (auto checked = check(); !checked) co_return checked;
  if (driver() == driver_for(wanted)) co_return Status{};
  auto remembering = remember();
  if (const Status remembered = co_await std::move(remembering); !remembered) co_return remembered;
  auto moving = move_to(std::move(wanted));
  co_return co_await std::move(moving);
}

Task<Status> DriverSwitch::restore() {
  const DriverRecord* const known = ways_.records.find(pci_bus_id_);
  if (!known) co_return Status{};
  const DriverRecord before = *known;
  if (!check())
    co_return ways_.records.forget(pci_bus_id_);  // the function is gone, and another card may take its place
  // A driver that was unloaded since claims the function when it is loaded, if the function is free then.
  std::error_code error;
  const fs::path folder = ways_.sysfs / "bus/pci/drivers" / before.driver;
  const bool is_loaded = fs::exists(folder, error);
  if (error) co_return fail(Code::kUnavailable, "cannot look at '{}': {}", folder.native(), error.message());
  const std::string wanted = is_loaded ? before.driver : std::string();
  if (driver() != wanted) {
    auto moving = move_to(wanted);
    if (const Status moved = co_await std::move(moving); !moved) co_return moved;
  }
  // An empty line clears the override.
  auto clearing = write(function_ / "driver_override", before.driver_override + "\n", FaultPoint::kAfterDriverClear);
  if (const Status cleared = co_await std::move(clearing); !cleared) co_return cleared;
  // The driver was loaded meanwhile, while the function was not free.
  if (!is_loaded && fs::exists(folder, error)) {
    auto probing = write(ways_.sysfs / "bus/pci/drivers_probe", pci_bus_id_, FaultPoint::kAfterDriverProbe);
    if (const Status probed = co_await std::move(probing); !probed) co_return probed;
  }
  co_return ways_.records.forget(pci_bus_id_);
}

Task<Status> DriverSwitch::remember() {
  if (ways_.records.find(pci_bus_id_)) co_return Status{};
  wire::Access access;
  access.set_read(function_ / "driver_override");
  std::string what = fmt::format("a read of '{}'", access.read());
  auto reading = ways_.access(std::move(access), std::move(what));
  auto before = co_await std::move(reading);
  if (!before) co_return std::unexpected(before.error());
  DriverRecord record{driver(), line_of(std::move(*before))};
  if (auto kept = ways_.records.keep(pci_bus_id_, std::move(record)); !kept)
    co_return within(kept.error(), "cannot note the driver that it has");
  if (ways_.fault) ways_.fault(FaultPoint::kAfterDriverRecord);
  co_return Status{};
}

// The override alone binds nothing: the kernel probes the function once it has no driver.
Task<Status> DriverSwitch::move_to(std::string driver_override) {
  const std::string wanted = driver_for(driver_override);
  auto setting = write(function_ / "driver_override", driver_override + "\n", FaultPoint::kAfterDriverOverride);
  if (const Status set = co_await std::move(setting); !set) co_return set;
  if (!driver().empty()) {
    auto freeing = write(function_ / "driver/unbind", pci_bus_id_, FaultPoint::kAfterDriverUnbind);
    if (const Status freed = co_await std::move(freeing); !freed) co_return freed;
  }
  if (!wanted.empty()) {
    auto probing = write(ways_.sysfs / "bus/pci/drivers_probe", pci_bus_id_, FaultPoint::kAfterDriverProbe);
    if (const Status probed = co_await std::move(probing); !probed) co_return probed;
  }
  const std::string now = driver();
  if (now == wanted) co_return Status{};
  co_return fail(Code::kFailedPrecondition,
                 "the kernel left it {}: is the driver's module loaded, and what does dmesg say?",
                 now.empty() ? "without a driver" : fmt::format("with '{}'", now));
}

Task<Status> DriverSwitch::write(fs::path file, std::string text, FaultPoint done) {
  wire::Access access;
  access.mutable_write()->set_path(file);
  access.mutable_write()->set_data(std::move(text));
  std::string what = fmt::format("a write to '{}'", file.native());
  auto writing = ways_.access(std::move(access), std::move(what));
  const auto written = co_await std::move(writing);
  if (!written) co_return std::unexpected(written.error());
  if (ways_.fault) ways_.fault(done);
  co_return Status{};
}

}  // namespace cardcage
