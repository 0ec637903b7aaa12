#include "host/rpc/unix_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "host/core/log.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

bool is_ours(std::string_view name) {
  if (name.starts_with('.')) name.remove_prefix(1);
  return name.starts_with("cardcage-") && name.ends_with(".sock");
}

// Returns the error of an attempt to connect; 0 if it succeeded.
int connect_error(const fs::path& socket) {
  const auto address = unix_address(socket);
  const UniqueFd probe = new_unix_socket();
  if (!address || !probe) return EINVAL;
  return connect_unix(probe, *address) == 0 ? 0 : errno;
}

}  // namespace

UniqueFd new_unix_socket() { return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

Result<sockaddr_un> unix_address(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() > kMaxSocketPath)
    return fail(Code::kInvalidArgument, "socket path '{}' has {} bytes and unix sockets allow {}", path.native(),
                path.native().size(), kMaxSocketPath);
  std::memcpy(address.sun_path, path.c_str(), path.native().size());
  return address;
}

int connect_unix(const UniqueFd& socket, const sockaddr_un& address) {
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

int bind_unix(const UniqueFd& socket, const sockaddr_un& address) {
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

bool is_served(const fs::path& socket) {
  const int error = connect_error(socket);
  return error == 0 || error == EAGAIN;  // a full backlog: a process serves the socket, if slowly
}

std::optional<SocketIdentity> socket_identity(const fs::path& path) {
  struct statx about{};
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &about) != 0) return {};
  const statx_timestamp& time = (about.stx_mask & STATX_BTIME) != 0 ? about.stx_btime : about.stx_ctime;
  return SocketIdentity{.device = (std::uint64_t{about.stx_dev_major} << 32) | about.stx_dev_minor,
                        .inode = about.stx_ino,
                        .born = time.tv_sec * 1'000'000'000 + time.tv_nsec,
                        .is_socket = S_ISSOCK(about.stx_mode)};
}

void remove_stale_socket(const fs::path& path) {
  std::error_code gone;
  if (fs::symlink_status(path, gone).type() != fs::file_type::socket) return;
  if (connect_error(path) != ECONNREFUSED || ::unlink(path.c_str()) != 0) return;
  log(LogLevel::kInfo, "removed the socket of a dead process", {{"socket", path.native()}});
}

void remove_stale_sockets(const fs::path& folder) {
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
    if (is_ours(entry->path().filename().native())) remove_stale_socket(entry->path());
}

}  // namespace cardcage
