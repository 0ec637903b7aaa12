#include "host/worker/hardware_access.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "cardcage/module.h"
#include "host/core/trusted_path.h"
#include "host/core/unique_fd.h"
#include "host/wire/messages.h"
#include "host/worker/data_file.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxMessage = 64u << 10, kMaxContent = 4096;
// An ioctl with a wrong size writes beyond its argument, at most by the size that a request number can encode.
constexpr std::size_t kRoom = std::bit_ceil(std::size_t{_IOC_SIZEMASK});

// openat2(2) must be repeated if a file of the node was renamed or mounted while it followed "..", as in the links of
// sysfs.
constexpr int kOpenAttempts = 1000;
constexpr unsigned kOpenPauseUs = 500;

std::unexpected<Error> failed(std::string_view step, const std::string& path) {
  return fail_errno(errno, fmt::format("cannot {} '{}'", step, path));
}

std::unexpected<Error> not_opened(int error, const std::string& path, int flags) {
  if (error == EXDEV)
    return fail_errno(error, fmt::format("cannot follow a link out of the first folder of '{}'", path));
  if (error == ELOOP && (flags & O_NOFOLLOW) != 0)
    return fail(Code::kInvalidArgument, "'{}' is a link: give the path of the file itself", path);
  if (error == EBUSY && (flags & O_EXCL) != 0)
    return fail(Code::kFailedPrecondition, "'{}' is in use: end the process that has it open, or wait for it", path);
  return fail_errno(error, fmt::format("cannot open '{}'", path));
}

// A link that another user may have placed could lead to any file of that folder. A missing file is left to the kernel
// to report.
Status check_way(const std::string& path) {
  const auto found = walk(path, check_step);
  if (found || found.error().code != Code::kPermissionDenied) return {};
  return within(found.error(), "cannot open '{}'", path);
}

// The kernel checks while it opens the file that no link leads out of the first folder: /sys, /proc, /dev.
Result<UniqueFd> open_file(const std::string& path, int flags) {
  const std::size_t first_end = std::min(path.find('/', 1), path.size());
  const UniqueFd root(::open(path.substr(0, first_end).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NOCTTY);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const std::string rest = path.substr(std::min(first_end + 1, path.size()));
  const auto attempt = [&] {
    return static_cast<int>(::syscall(SYS_openat2, root.get(), rest.c_str(), &how, sizeof how));
  };
  UniqueFd file(attempt());
  for (int i = 0; i < kOpenAttempts && !file && errno == EAGAIN; ++i) {
    ::usleep(kOpenPauseUs);
    file = UniqueFd(attempt());
  }
  if (!file) return not_opened(errno, path, flags);
  return file;
}

Result<std::string> write_file(const wire::FileWrite& wanted) {
  if (auto safe = check_way(wanted.path()); !safe) return std::unexpected(safe.error());
  const auto file = open_file(wanted.path(), O_WRONLY);
  if (!file) return std::unexpected(file.error());
  const ssize_t written = ::write(file->get(), wanted.data().data(), wanted.data().size());
  if (written < 0) return failed("write", wanted.path());
  if (static_cast<std::size_t>(written) != wanted.data().size())
    return fail(Code::kInternal, "'{}' took {} of {} bytes", wanted.path(), written, wanted.data().size());
  return std::string();
}

Result<std::string> read_file(const std::string& path) {
  const auto file = open_file(path, O_RDONLY);
  if (!file) return std::unexpected(file.error());
  std::string content(kMaxContent, '\0');
  const ssize_t size = ::read(file->get(), content.data(), content.size());
  if (size < 0) return failed("read", path);
  content.resize(static_cast<std::size_t>(size));
  return content;
}

// Returns the address of the data for the device.
Result<std::uint64_t> address_of_data(const wire::Ioctl& wanted) {
  const bool checked = !wanted.data_sha256().empty();
  if (auto safe = checked ? Status() : check_way(wanted.data_path()); !safe) return std::unexpected(safe.error());
  const auto file = open_file(wanted.data_path(), O_RDONLY | O_NONBLOCK | (checked ? O_NOFOLLOW : 0));
  if (!file) return std::unexpected(file.error());
  const auto bytes =
      checked ? copy_checked(*file, wanted.data_path(), wanted.data_sha256()) : map_file(*file, wanted.data_path());
  if (!bytes) return std::unexpected(bytes.error());
  if (wanted.data_start() >= bytes->size())
    return fail(Code::kInvalidArgument, "data_start is {}, and '{}' has {} bytes", wanted.data_start(),
                wanted.data_path(), bytes->size());
  return std::bit_cast<std::uint64_t>(bytes->data() + wanted.data_start());
}

Result<std::string> make_ioctl(const wire::Ioctl& wanted) {
  static std::array<char, kRoom> argument;
  const std::size_t size = std::min(wanted.argument().size(), kMaxContent);
  std::memcpy(argument.data(), wanted.argument().data(), size);
  const bool maps = !wanted.data_path().empty();
  if (maps) {
    const auto address = address_of_data(wanted);
    if (!address) return std::unexpected(address.error());
    std::memcpy(argument.data() + std::min<std::size_t>(wanted.data_offset(), kMaxContent), &*address, sizeof *address);
  }
  if (auto safe = check_way(wanted.path()); !safe) return std::unexpected(safe.error());
  const bool exclusive = (wanted.flags() & CAGE_IOCTL_EXCLUSIVE) != 0;
  const auto device = open_file(wanted.path(), O_RDWR | (exclusive ? O_EXCL : 0));
  if (!device) return std::unexpected(device.error());
  if (::ioctl(device->get(), wanted.request(), size > 0 ? argument.data() : nullptr) < 0)
    return failed("make the ioctl of", wanted.path());
  std::string result(argument.data(), size);
  // The address is meaningless outside this process.
  if (maps) result.replace(wanted.data_offset(), sizeof(std::uint64_t), wanted.argument(), wanted.data_offset(), 8);
  return result;
}

Result<std::string> make(const wire::Access& wanted) {
  switch (wanted.what_case()) {
    case wire::Access::kWrite: return write_file(wanted.write());
    case wire::Access::kIoctl: return make_ioctl(wanted.ioctl());
    case wire::Access::kRead: return read_file(wanted.read());
    case wire::Access::WHAT_NOT_SET: break;
  }
  return fail(Code::kInvalidArgument, "there is nothing to do");
}

}  // namespace

int make_access(int socket) {
  // The next daemon would not know this process. The daemon may have died before the call.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd daemon{.fd = socket, .events = POLLRDHUP, .revents = 0};
  if (::poll(&daemon, 1, 0) > 0) return EXIT_FAILURE;
  std::string message(kMaxMessage, '\0');
  const ssize_t size = ::recv(socket, message.data(), message.size(), 0);
  wire::Access wanted;
  if (size <= 0 || !wanted.ParseFromArray(message.data(), static_cast<int>(size))) return EXIT_FAILURE;
  auto made = make(wanted);
  wire::AccessResult result;
  result.set_done(made.has_value());
  if (made) {
    result.set_content(std::move(*made));
  } else {
    result.set_code(static_cast<std::uint32_t>(made.error().code));
    result.set_message(made.error().message);
  }
  const std::string answer = result.SerializeAsString();
  return ::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

}  // namespace cardcage
