#include "tests/fakes/fake_sysfs.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <ranges>
#include <utility>

namespace cardcage {
namespace {

constexpr std::string_view kDevices = "devices/pci0000:00";

// Splits "a/b/c" into "a/b" and "c".
std::pair<std::string, std::string> split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

void FakeSysfs::add_driver(const std::string& name) {
  const std::lock_guard lock(mutex_);
  drivers_.insert(name);
}

void FakeSysfs::remove_driver(const std::string& name) {
  const std::lock_guard lock(mutex_);
  drivers_.erase(name);
}

void FakeSysfs::add_function(const std::string& address, const std::string& native) {
  const std::lock_guard lock(mutex_);
  probe(functions_[address] = {native, "", ""});
}

FakeSysfs::Function FakeSysfs::look(const std::string& address) const {
  const std::lock_guard lock(mutex_);
  return functions_.at(address);
}

std::vector<std::string> FakeSysfs::written() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

std::vector<std::string> FakeSysfs::opened() const {
  const std::lock_guard lock(mutex_);
  return opened_;
}

std::string FakeSysfs::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void FakeSysfs::hold(const std::string& name) {
  const std::lock_guard lock(mutex_);
  held_names_.insert(name);
}

bool FakeSysfs::holds() const {
  const std::lock_guard lock(mutex_);
  return !held_.empty();
}

void FakeSysfs::release() {
  const std::lock_guard lock(mutex_);
  held_names_.clear();
  for (Held& held : std::exchange(held_, {})) server_.reply(held.request, {write(held.path, held.text), ""});
}

unsigned FakeSysfs::mode(const std::string& path) {
  const std::lock_guard lock(mutex_);
  return mode_of(path);
}

std::string FakeSysfs::link(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto [folder, name] = split(path);
  if (folder == "bus/pci/devices") return fmt::format("../../../{}/{}", kDevices, name);
  return "../../../bus/pci/drivers/" + functions_.at(split(folder).second).driver;
}

std::vector<std::string> FakeSysfs::list(const std::string& folder) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;  // tests list no other folder
  if (folder == "bus/pci/drivers") names.assign(drivers_.begin(), drivers_.end());
  if (folder == "bus/pci/devices") std::ranges::copy(functions_ | std::views::keys, std::back_inserter(names));
  return names;
}

FuseServer::Answer FakeSysfs::open(const FuseServer::Request& request, const std::string& path, unsigned flags) {
  {
    const std::lock_guard lock(mutex_);
    opened_.push_back(path);
  }
  return Files::open(request, path, flags);
}

FuseServer::Answer FakeSysfs::read(const FuseServer::Request&, const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto [folder, name] = split(path);
  if (name != "driver_override") return Reply{EIO, ""};
  const std::string& text = functions_.at(split(folder).second).driver_override;
  return Reply{0, (text.empty() ? "(null)" : text) + "\n"};
}

FuseServer::Answer FakeSysfs::write(const FuseServer::Request& request, const std::string& path, std::string text) {
  const std::lock_guard lock(mutex_);
  if (held_names_.erase(split(path).second) > 0) {
    held_.push_back({request, path, std::move(text)});
    return std::nullopt;
  }
  return Reply{write(path, std::move(text)), ""};
}

FuseServer::Answer FakeSysfs::ioctl(const FuseServer::Request& request, const std::string&,
                                    const FuseServer::Ioctl& call) {
  std::array<std::uint64_t, 2> argument{};
  if (call.command != kCardRequest || call.input.size() != sizeof argument) return Reply{ENOTTY, ""};
  const std::lock_guard lock(mutex_);
  std::memcpy(argument.data(), call.input.data(), sizeof argument);
  ++argument[0];
  seen_.assign(16, '?');
  if (argument[1] != 0 && !read_memory(request.caller, argument[1], seen_.data(), seen_.size()))
    return Reply{EFAULT, ""};
  return Reply{0, std::string(reinterpret_cast<const char*>(argument.data()), sizeof argument)};
}

unsigned FakeSysfs::mode_of(const std::string& path) const {
  static const std::set<std::string> folders = {
      "", "bus", "bus/pci", "bus/pci/devices", "bus/pci/drivers", "devices", std::string(kDevices)};
  if (folders.contains(path)) return S_IFDIR | 0755;
  if (path == "bus/pci/drivers_probe") return S_IFREG | 0200;
  if (path == "devices/card") return S_IFREG | 0600;
  const auto [folder, name] = split(path);
  if (folder == "bus/pci/drivers") return drivers_.contains(name) ? S_IFDIR | 0755 : 0;
  if (folder == "bus/pci/devices") return functions_.contains(name) ? S_IFLNK | 0777 : 0;
  if (folder == kDevices) return functions_.contains(name) ? S_IFDIR | 0755 : 0;
  const auto [above, parent] = split(folder);
  if (above == "bus/pci/drivers") return name == "unbind" || name == "bind" ? S_IFREG | 0200 : 0;
  if (above != kDevices) return 0;
  if (name == "driver") return functions_.at(parent).driver.empty() ? 0 : S_IFLNK | 0777;
  if (name == "driver_override") return S_IFREG | 0644;
  return name == "reset" ? S_IFREG | 0200 : 0;
}

int FakeSysfs::write(const std::string& path, std::string text) {
  text.resize(std::min(text.find('\n'), text.size()));
  written_.push_back(path + ": " + text);
  const auto [folder, name] = split(path);
  if (name == "driver_override") functions_.at(split(folder).second).driver_override = text;
  if (name == "driver_override" || name == "reset") return 0;
  const auto function = functions_.find(text);
  if (function == functions_.end()) return name == "drivers_probe" ? EINVAL : ENODEV;
  if (name == "unbind") {
    if (function->second.driver != split(folder).second) return ENODEV;
    function->second.driver.clear();
  } else {
    probe(function->second);
  }
  return 0;
}

void FakeSysfs::probe(Function& function) const {
  const std::string& wanted = function.driver_override.empty() ? function.native : function.driver_override;
  if (function.driver.empty() && drivers_.contains(wanted)) function.driver = wanted;
}

}  // namespace cardcage
