// Unix sockets as files: their addresses, whether they are served, and their identity.
#pragma once

#include <sys/un.h>

#include <cstdint>
#include <filesystem>
#include <optional>

#include "host/core/result.h"
#include "host/core/unique_fd.h"

namespace cardcage {

// sun_path holds 108 bytes with the terminator.
constexpr std::size_t kMaxSocketPath = 107;

// Stream, non-blocking, close-on-exec.
UniqueFd new_unix_socket();
Result<sockaddr_un> unix_address(const std::filesystem::path& path);
// connect(2) and bind(2): 0, or -1 with errno.
int connect_unix(const UniqueFd& socket, const sockaddr_un& address);
int bind_unix(const UniqueFd& socket, const sockaddr_un& address);

// Whether somebody accepts connections there.
bool is_served(const std::filesystem::path& socket);

// Identifies a socket file among those that follow each other at a path. Inode numbers alone are reused too soon.
struct SocketIdentity {
  std::uint64_t device = 0, inode = 0;
  std::int64_t born = 0;  // in nanoseconds; the time of the last change if the file system has no time of birth
  bool is_socket = false;
  friend bool operator==(const SocketIdentity&, const SocketIdentity&) = default;
};
// Empty if there is no file.
std::optional<SocketIdentity> socket_identity(const std::filesystem::path& path);

// Removes the path if it is a socket that no process serves any more.
void remove_stale_socket(const std::filesystem::path& path);

// Removes the sockets "cardcage-*.sock" of `folder`, also hidden ones, that nobody serves any more. All other files
// belong to others.
void remove_stale_sockets(const std::filesystem::path& folder);

}  // namespace cardcage
