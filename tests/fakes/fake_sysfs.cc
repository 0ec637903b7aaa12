#include "tests/fakes/fake_sysfs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace cardcage {
namespace {

constexpr std::size_t kBuffer = 128u << 10;
constexpr std::uint32_t kMaxWrite = 64u << 10;
constexpr std::string_view kDevices = "devices/pci0000:00";

template <class T>
T read_as(std::string_view bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}
template <class T>
std::string bytes_of(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

// "a/b" and "c" of "a/b/c".
std::pair<std::string, std::string> split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

fuse_attr attributes(std::uint64_t node, unsigned mode) {
  fuse_attr made{};
  made.ino = node;
  made.mode = mode;
  made.nlink = 1;
  made.size = 4096;
  return made;
}

}  // namespace

FakeSysfs::FakeSysfs() : device_(::open("/dev/fuse", O_RDWR | O_CLOEXEC)), stop_(::eventfd(0, EFD_CLOEXEC)) {
  const std::string options = fmt::format("fd={},rootmode=40755,user_id=0,group_id=0", device_.get());
  mounted_ = device_ && ::mount("fake-sysfs", path().c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
  if (mounted_) server_ = std::thread([this] { serve(); });
}

FakeSysfs::~FakeSysfs() {
  if (!mounted_) return;
  ::umount2(path().c_str(), MNT_DETACH);
  ::eventfd_write(stop_.get(), 1);
  server_.join();
  device_ = UniqueFd();  // fails what is held
}

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

std::string FakeSysfs::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

std::vector<std::string> FakeSysfs::opened() const {
  const std::lock_guard lock(mutex_);
  return opened_;
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
  for (Held& held : std::exchange(held_, {})) {
    fuse_write_out out{};
    out.size = static_cast<std::uint32_t>(held.text.size());
    send(held.unique, {write(held.path, held.text), bytes_of(out)});
  }
}

void FakeSysfs::serve() {
  std::string buffer(kBuffer, '\0');
  for (;;) {
    std::array<pollfd, 2> ready{{{device_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return;
    if (ready[1].revents != 0) return;
    const ssize_t size = ::read(device_.get(), buffer.data(), buffer.size());
    if (size < 0 && errno != EINTR && errno != EAGAIN && errno != ENOENT) return;
    if (size > 0) take({buffer.data(), static_cast<std::size_t>(size)});
  }
}

void FakeSysfs::take(std::string_view request) {
  const auto header = read_as<fuse_in_header>(request);
  if (header.opcode == FUSE_FORGET || header.opcode == FUSE_BATCH_FORGET || header.opcode == FUSE_INTERRUPT) return;
  const std::lock_guard lock(mutex_);
  if (const auto reply = respond(request)) send(header.unique, *reply);
}

void FakeSysfs::send(std::uint64_t unique, const Reply& reply) const {
  fuse_out_header header{};
  header.unique = unique;
  header.error = -reply.error;
  const std::string body = reply.error == 0 ? reply.body : "";
  header.len = static_cast<std::uint32_t>(sizeof header + body.size());
  const std::string message = bytes_of(header) + body;
  if (::write(device_.get(), message.data(), message.size()) < 0 && errno != ENOENT) std::perror("fake sysfs");
}

std::optional<FakeSysfs::Reply> FakeSysfs::respond(std::string_view request) {
  const auto header = read_as<fuse_in_header>(request);
  const std::string_view body = request.substr(sizeof header);
  const std::string path = nodes_.contains(header.nodeid) ? nodes_.at(header.nodeid) : "?";
  switch (header.opcode) {
    case FUSE_INIT: {
      fuse_init_out out{};
      out.major = FUSE_KERNEL_VERSION;
      out.minor = std::min<std::uint32_t>(read_as<fuse_init_in>(body).minor, 31);
      out.max_write = kMaxWrite;
      return Reply{0, bytes_of(out)};
    }
    case FUSE_LOOKUP: return look_up(header.nodeid, body.data());
    case FUSE_SETATTR:  // truncate
    case FUSE_GETATTR: {
      fuse_attr_out out{};
      out.attr = attributes(header.nodeid, mode_of(path));
      return mode_of(path) == 0 ? Reply{ENOENT, ""} : Reply{0, bytes_of(out)};
    }
    case FUSE_READLINK: return Reply{0, link_at(path)};
    case FUSE_OPEN: {
      opened_.push_back(path);
      fuse_open_out out{};
      out.open_flags = FOPEN_DIRECT_IO;
      return Reply{0, bytes_of(out)};
    }
    case FUSE_READ: {
      if (read_as<fuse_read_in>(body).offset > 0) return Reply{};
      const auto [folder, name] = split(path);
      if (name != "driver_override") return Reply{EIO, ""};
      const std::string& text = functions_.at(split(folder).second).driver_override;
      return Reply{0, (text.empty() ? "(null)" : text) + "\n"};
    }
    case FUSE_WRITE: {
      const auto in = read_as<fuse_write_in>(body);
      std::string text(body.substr(sizeof in, in.size));
      fuse_write_out out{};
      out.size = in.size;
      if (held_names_.erase(split(path).second) > 0) {
        held_.push_back({header.unique, path, std::move(text)});
        return std::nullopt;
      }
      return Reply{write(path, std::move(text)), bytes_of(out)};
    }
    case FUSE_IOCTL: return make_ioctl(request, body);
    case FUSE_FLUSH:
    case FUSE_RELEASE: return Reply{};
    default: return Reply{ENOSYS, ""};
  }
}

FakeSysfs::Reply FakeSysfs::look_up(std::uint64_t parent, std::string_view name) {
  const std::string& folder = nodes_.at(parent);
  const std::string path = folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
  if (mode_of(path) == 0) return {ENOENT, ""};
  fuse_entry_out out{};
  out.nodeid = node_of(path);
  out.attr = attributes(out.nodeid, mode_of(path));
  return {0, bytes_of(out)};
}

// The caller waits meanwhile, so its memory is as it was.
FakeSysfs::Reply FakeSysfs::make_ioctl(std::string_view request, std::string_view body) {
  const auto in = read_as<fuse_ioctl_in>(body);
  if (in.cmd != kCardRequest || in.in_size != 16) return {ENOTTY, ""};
  auto argument = read_as<std::array<std::uint64_t, 2>>(body.substr(sizeof in));
  ++argument[0];
  seen_.assign(16, '?');
  if (argument[1] != 0) {
    iovec mine{seen_.data(), seen_.size()}, theirs{reinterpret_cast<void*>(argument[1]), seen_.size()};
    if (::process_vm_readv(static_cast<pid_t>(read_as<fuse_in_header>(request).pid), &mine, 1, &theirs, 1, 0) < 0)
      return {EFAULT, ""};
  }
  fuse_ioctl_out out{};
  return {0, bytes_of(out) + bytes_of(argument)};
}

std::uint64_t FakeSysfs::node_of(const std::string& path) {
  // Each file that is opened is one of its own: a held write keeps no later one from the same file.
  if (S_ISREG(mode_of(path))) return nodes_.emplace(nodes_.rbegin()->first + 1, path).first->first;
  const auto known = std::ranges::find(nodes_, path, [](const auto& entry) { return entry.second; });
  if (known != nodes_.end()) return known->first;
  return nodes_.emplace(nodes_.rbegin()->first + 1, path).first->first;
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

std::string FakeSysfs::link_at(const std::string& path) const {
  const auto [folder, name] = split(path);
  if (folder == "bus/pci/devices") return fmt::format("../../../{}/{}", kDevices, name);
  return "../../../bus/pci/drivers/" + functions_.at(split(folder).second).driver;
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
