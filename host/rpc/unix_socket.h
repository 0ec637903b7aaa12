// Unix sockets as files: their addresses, their identity, and whether a process serves them.
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

// Makes a stream socket, non-blocking and close-on-exec.
UniqueFd new_unix_socket();
Result<sockaddr_un> unix_address(const std::filesystem::path& path);
// Call connect(2) and bind(2); return 0, or -1 with errno.
int connect_unix(const UniqueFd& socket, const sockaddr_un& address);
int bind_unix(const UniqueFd& socket, const sockaddr_un& address);

// Returns whether a process accepts connections at the socket.
bool is_served(const std::filesystem::path& socket);

// Distinguishes socket files that follow each other at a path. Inode numbers alone are reused too soon.
struct SocketIdentity {
  std::uint64_t device = 0, inode = 0;
  std::int64_t born = 0;  // in nanoseconds; time of the last change if the file system has no birth time
  bool is_socket = false;
  friend bool operator==(const SocketIdentity&, const SocketIdentity&) = default;
};
// Returns nothing if the file does not exist.
std::optional<SocketIdentity> socket_identity(const std::filesystem::path& path);

// Removes the path if it is a socket that no process serves any more.
void remove_stale_socket(const std::filesystem::path& path);

// Removes the sockets "cardcage-*.sock" of `folder`, also hidden ones, that no process serves any more. All other files
// belong to others.
void remove_stale_sockets(const std::filesystem::path& folder);

}  // namespace cardcage
