#include "sim/fuse/fuse_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fuse.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace cardcage {
namespace {

constexpr std::size_t kBuffer = 128u << 10;
constexpr std::uint32_t kMaxWrite = 64u << 10;
constexpr std::uint32_t kMinor = 31;

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

// The inode number of a path never changes.
fuse_attr attributes(const std::string& path, unsigned mode) {
  constexpr std::uint64_t kSize = 4096;  // as in sysfs
  fuse_attr made{};
  made.ino = std::hash<std::string>()(path) | 1;
  made.mode = mode;
  made.nlink = 1;
  made.size = S_ISREG(mode) ? kSize : 0;
  return made;
}

}  // namespace

FuseServer::Answer FuseServer::Files::open(const Request&, const std::string&, unsigned) { return Reply{}; }
FuseServer::Answer FuseServer::Files::ioctl(const Request&, const std::string&, const Ioctl&) {
  return Reply{ENOTTY, ""};
}
void FuseServer::Files::closed(std::uint64_t) {}

FuseServer::FuseServer(const std::filesystem::path& folder, const std::string& name, Files& files,
                       std::chrono::seconds names_kept)
    : folder_(folder),
      files_(files),
      names_kept_(names_kept),
      device_(::open("/dev/fuse", O_RDWR | O_CLOEXEC)),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      nodes_{{FUSE_ROOT_ID, {"", 1}}},
      folders_{{"", FUSE_ROOT_ID}} {
  const std::string options = fmt::format("fd={},rootmode=40755,user_id=0,group_id=0,allow_other", device_.get());
  mounted_ = device_ && ::mount(name.c_str(), folder.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
  if (mounted_) server_ = std::thread([this] { serve(); });
}

FuseServer::~FuseServer() {
  if (!mounted_) return;
  ::umount2(folder_.c_str(), MNT_DETACH);
  ::eventfd_write(stop_.get(), 1);
  server_.join();
}

void FuseServer::serve() {
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

void FuseServer::take(std::string_view message) {
  const auto header = read_as<fuse_in_header>(message);
  if (header.opcode == FUSE_FORGET || header.opcode == FUSE_BATCH_FORGET) return forget(message);
  if (header.opcode == FUSE_INTERRUPT) return;  // as in a driver that waits for its hardware
  Request request{.unique = header.unique, .caller = static_cast<pid_t>(header.pid), .opcode = header.opcode};
  respond(request, header.nodeid, message.substr(sizeof header));
}

void FuseServer::respond(const Request& request, std::uint64_t node, std::string_view body) {
  const auto known = nodes_.find(node);
  const std::string path = known == nodes_.end() ? "?" : known->second.path;
  switch (request.opcode) {
    case FUSE_INIT: {
      fuse_init_out out{};
      out.major = FUSE_KERNEL_VERSION;
      out.minor = std::min(read_as<fuse_init_in>(body).minor, kMinor);
      out.max_write = kMaxWrite;
      return send(request, 0, bytes_of(out));
    }
    case FUSE_LOOKUP: return look_up(request, node, body.data());
    case FUSE_SETATTR:  // truncate
    case FUSE_GETATTR: {
      fuse_attr_out out{};
      const unsigned mode = files_.mode(path);
      out.attr = attributes(path, mode);
      return send(request, mode == 0 ? ENOENT : 0, bytes_of(out));
    }
    case FUSE_READLINK: return send(request, 0, files_.link(path));
    case FUSE_OPENDIR: return send(request, 0, bytes_of(fuse_open_out{}));
    case FUSE_READDIR: return list(request, path, body);
    case FUSE_STATFS: return send(request, 0, bytes_of(fuse_statfs_out{}));
    case FUSE_RELEASEDIR:
    case FUSE_FLUSH: return send(request, 0, "");
    case FUSE_RELEASE: {
      const std::uint64_t handle = read_as<fuse_release_in>(body).fh;
      {
        const std::lock_guard lock(mutex_);
        texts_.erase(handle);
      }
      files_.closed(handle);
      return send(request, 0, "");
    }
    default: return respond_with_data(request, path, body);
  }
}

void FuseServer::respond_with_data(const Request& from, const std::string& path, std::string_view body) {
  Request request = from;
  Answer answer;
  if (request.opcode == FUSE_OPEN) {
    request.handle = ++last_handle_;
    answer = files_.mode(path) == 0 ? Reply{ENOENT, ""} : files_.open(request, path, read_as<fuse_open_in>(body).flags);
  } else if (request.opcode == FUSE_READ) {
    const auto in = read_as<fuse_read_in>(body);
    request.handle = in.fh;
    request.offset = in.offset;
    request.size = in.size;
    if (in.offset > 0) {
      const std::lock_guard lock(mutex_);
      if (const auto text = texts_.find(in.fh); text != texts_.end()) answer = Reply{0, text->second};
    }
    if (!answer) answer = files_.read(request, path);
  } else if (request.opcode == FUSE_WRITE) {
    const auto in = read_as<fuse_write_in>(body);
    request.handle = in.fh;
    request.size = in.size;
    answer = files_.write(request, path, std::string(body.substr(sizeof in, in.size)));
  } else if (request.opcode == FUSE_IOCTL) {
    const auto in = read_as<fuse_ioctl_in>(body);
    request.handle = in.fh;
    answer = files_.ioctl(request, path, {in.cmd, in.arg, body.substr(sizeof in, in.in_size), in.out_size});
  } else {
    return send(request, ENOSYS, "");
  }
  if (answer) reply(request, *answer);
}

void FuseServer::reply(const Request& request, const Reply& reply) {
  if (reply.error != 0) return send(request, reply.error, "");
  if (request.opcode == FUSE_OPEN) {
    fuse_open_out out{};
    out.fh = request.handle;
    out.open_flags = FOPEN_DIRECT_IO;
    return send(request, 0, bytes_of(out));
  }
  if (request.opcode == FUSE_WRITE) {
    fuse_write_out out{};
    out.size = request.size;
    return send(request, 0, bytes_of(out));
  }
  if (request.opcode == FUSE_IOCTL) return send(request, 0, bytes_of(fuse_ioctl_out{}) + reply.body);
  const std::lock_guard lock(mutex_);
  texts_[request.handle] = reply.body;
  const std::size_t begin = std::min<std::size_t>(request.offset, reply.body.size());
  send(request, 0, reply.body.substr(begin, request.size));
}

void FuseServer::send(const Request& request, int error, const std::string& body) const {
  fuse_out_header header{};
  header.unique = request.unique;
  header.error = -error;
  const std::string shown = error == 0 ? body : "";
  header.len = static_cast<std::uint32_t>(sizeof header + shown.size());
  const std::string message = bytes_of(header) + shown;
  // ENOENT and ENODEV: the caller no longer waits, or the file system is unmounted.
  if (::write(device_.get(), message.data(), message.size()) < 0 && errno != ENOENT && errno != ENODEV)
    std::perror("fuse server");
}

void FuseServer::look_up(const Request& request, std::uint64_t parent, std::string_view name) {
  const std::string& folder = nodes_.at(parent).path;
  const std::string path = folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
  const unsigned mode = files_.mode(path);
  if (mode == 0) return send(request, ENOENT, "");
  fuse_entry_out out{};
  out.nodeid = node_of(path, mode);
  out.attr = attributes(path, mode);
  out.entry_valid = out.attr_valid = static_cast<std::uint64_t>(names_kept_.count());
  send(request, 0, bytes_of(out));
}

void FuseServer::list(const Request& request, const std::string& path, std::string_view body) {
  const auto in = read_as<fuse_read_in>(body);
  const std::vector<std::string> names = files_.list(path);
  std::string entries;
  for (std::uint64_t i = in.offset; i < names.size(); ++i) {
    fuse_dirent entry{};
    const std::string inside = path.empty() ? names[i] : path + "/" + names[i];
    const unsigned mode = files_.mode(inside);
    entry.ino = attributes(inside, mode).ino;
    entry.off = i + 1;
    entry.namelen = static_cast<std::uint32_t>(names[i].size());
    constexpr unsigned kTypeBits = 12;  // type bits of a mode, above those of d_type
    entry.type = mode >> kTypeBits;
    std::string one = bytes_of(entry).substr(0, FUSE_NAME_OFFSET) + names[i];
    one.resize(FUSE_DIRENT_ALIGN(one.size()));
    if (entries.size() + one.size() > in.size) break;
    entries += one;
  }
  send(request, 0, entries);
}

std::uint64_t FuseServer::node_of(const std::string& path, unsigned mode) {
  // Each opened file is an inode of its own: the kernel serializes writes to one inode, and a blocked write must not
  // delay others.
  std::uint64_t node = 0;
  if (S_ISREG(mode)) {
    node = ++last_node_;
  } else {
    const auto [known, added] = folders_.emplace(path, last_node_ + 1);
    if (added) ++last_node_;
    node = known->second;
  }
  Node& found = nodes_[node];
  found.path = path;
  ++found.lookups;
  return node;
}

void FuseServer::forget(std::string_view message) {
  const auto header = read_as<fuse_in_header>(message);
  message.remove_prefix(sizeof header);
  if (header.opcode == FUSE_FORGET) return forget(header.nodeid, read_as<fuse_forget_in>(message).nlookup);
  const auto batch = read_as<fuse_batch_forget_in>(message);
  message.remove_prefix(sizeof batch);
  for (std::uint32_t i = 0; i < batch.count; ++i) {
    const auto one = read_as<fuse_forget_one>(message);
    message.remove_prefix(sizeof one);
    forget(one.nodeid, one.nlookup);
  }
}

void FuseServer::forget(std::uint64_t node, std::uint64_t lookups) {
  const auto found = nodes_.find(node);
  if (node == FUSE_ROOT_ID || found == nodes_.end()) return;
  found->second.lookups -= std::min(lookups, found->second.lookups);
  if (found->second.lookups > 0) return;
  const auto folder = folders_.find(found->second.path);
  if (folder != folders_.end() && folder->second == node) folders_.erase(folder);
  nodes_.erase(found);
}

std::optional<std::uint64_t> open_flags_of(pid_t thread) {
  std::ifstream file(fmt::format("/proc/{}/syscall", thread));
  long number = -1;
  std::array<std::uint64_t, 4> arguments{};
  if (!(file >> number)) return std::nullopt;
  for (std::uint64_t& argument : arguments) {
    std::string word;
    if (!(file >> word)) return std::nullopt;
    argument = std::stoull(word, nullptr, 16);
  }
  if (number == SYS_openat) return arguments[2];
#ifdef SYS_open
  if (number == SYS_open) return arguments[1];
#endif
  open_how how{};
  if (number == SYS_openat2 && read_memory(thread, arguments[2], &how, sizeof how)) return how.flags;
  return std::nullopt;
}

bool read_memory(pid_t process, std::uint64_t address, void* to, std::size_t size) {
  iovec mine{to, size}, theirs{reinterpret_cast<void*>(address), size};
  return ::process_vm_readv(process, &mine, 1, &theirs, 1, 0) == static_cast<ssize_t>(size);
}

bool write_memory(pid_t process, std::uint64_t address, const void* from, std::size_t size) {
  iovec mine{const_cast<void*>(from), size}, theirs{reinterpret_cast<void*>(address), size};
  return ::process_vm_writev(process, &mine, 1, &theirs, 1, 0) == static_cast<ssize_t>(size);
}

}  // namespace cardcage
