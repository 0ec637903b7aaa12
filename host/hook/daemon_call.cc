#include "host/hook/daemon_call.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

namespace cardcage {
namespace {

constexpr std::chrono::milliseconds kRetry{100};

// False at the deadline.
bool wait_readable(int descriptor, HookDeadline deadline) {
  pollfd polled{.fd = descriptor, .events = POLLIN, .revents = 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    if (::poll(&polled, 1, static_cast<int>(left.count())) > 0) return true;
  }
}

std::unexpected<Error> unreachable(const std::string& path, int error) {
  // The queue of a socket without an accepting process is full.
  if (error == EAGAIN)
    return fail(Code::kUnavailable, "the cardcage daemon does not accept connections at {}: it is stopped or hangs",
                path);
  return fail_errno(error, fmt::format("the cardcage daemon does not serve {}", path));
}

// Never blocks in connect(2), which waits without a limit while the queue of the listening socket is full.
Result<UniqueFd> connect_to_daemon(const std::filesystem::path& run_dir, HookDeadline deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = run_dir / kHookSocket;
  if (path.size() >= sizeof address.sun_path) return fail(Code::kInvalidArgument, "{} is too long a path", path);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  for (;;) {
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return fail_errno(errno, "cannot make a socket");
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
    const int error = errno;
    if (std::chrono::steady_clock::now() + kRetry >= deadline) return unreachable(path, error);
    std::this_thread::sleep_for(kRetry);
  }
}

}  // namespace

Result<std::string> read_all(int descriptor, std::size_t limit, HookDeadline deadline) {
  std::string text;
  std::array<char, 4096> piece;
  for (;;) {
    if (!wait_readable(descriptor, deadline)) return fail(Code::kDeadlineExceeded, "out of time");
    const ssize_t size = ::read(descriptor, piece.data(), piece.size());
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (size < 0) return fail_errno(errno, "cannot read");
    if (size == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(size));
    if (text.size() > limit) return fail(Code::kOutOfRange, "more than {} bytes to read", limit);
  }
}

// Returns the daemon's response; empty if the daemon ended the connection without one.
static Result<std::string> call_daemon(const std::filesystem::path& run_dir, const std::string& message,
                                       const SharedFd& network_namespace, HookDeadline deadline) {
  const auto socket = connect_to_daemon(run_dir, deadline);
  if (!socket) return std::unexpected(socket.error());
  // The message fits into the socket's buffer, so the non-blocking socket takes all of it at once.
  if (send_with(socket->get(), message, {network_namespace}) != static_cast<ssize_t>(message.size()) ||
      ::shutdown(socket->get(), SHUT_WR) != 0)
    return fail_errno(errno, "cannot ask the cardcage daemon");
  auto answer = read_all(socket->get(), kMaxHookMessage, deadline);
  if (!answer) return within(answer.error(), "the cardcage daemon does not respond");
  return answer;
}

Status ask_daemon(const std::filesystem::path& run_dir, const HookRequest& request, const SharedFd& network_namespace,
                  HookDeadline deadline) {
  auto answer = call_daemon(run_dir, to_message(request), network_namespace, deadline);
  // A daemon of the first protocol, or one that has just ended: another one will start.
  if (answer && answer->empty()) answer = call_daemon(run_dir, to_first_message(request), network_namespace, deadline);
  if (!answer) return std::unexpected(answer.error());
  if (*answer == kHookOk) return {};
  return fail(Code::kUnavailable, "{}", answer->empty() ? "the cardcage daemon ended before it responded" : *answer);
}

}  // namespace cardcage
