// cardcage-hook: a createRuntime hook (OCI runtime specification) of containers whose claim has devices that a module
// moves to their pod. It lets a container start if the devices are there, has the daemon move them if they are not, and
// fails the container otherwise: the runtime starts containers without them if the daemon's NRI plugin misses the pod.
//
// cardcage-hook RUN_DIR DRIVER CLAIM_UID < state of the container
//
// It also raises the limit of the memory that a container may lock, which CDI has no word for:
//
// cardcage-hook lock-memory BYTES < state of the container
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <thread>

#include "host/core/descriptors.h"
#include "host/hook/attachment_files.h"
#include "host/hook/container_state.h"
#include "host/hook/hook_request.h"

namespace cardcage {
namespace {

using Instant = std::chrono::steady_clock::time_point;

constexpr std::size_t kMaxState = 1u << 20;
constexpr std::chrono::milliseconds kRetry{100};

Result<std::string> read_all(int descriptor, std::size_t limit) {
  std::string text;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t size = ::read(descriptor, piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return fail_errno(errno, "cannot read");
    if (size == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(size));
    if (text.size() > limit) return fail(Code::kOutOfRange, "more than {} bytes to read", limit);
  }
}

// By the file of the daemon, and if what it names is still there.
bool is_attached(const std::filesystem::path& run_dir, const HookRequest& request, int network_namespace) {
  struct stat its{};
  if (::fstat(network_namespace, &its) != 0) return false;
  const auto pod = read_attachment(run_dir / kAttachmentsFolder, {request.driver, request.claim_uid, its.st_ino});
  if (!pod || ::setns(network_namespace, CLONE_NEWNET) != 0) return false;
  return std::ranges::all_of(pod->interfaces,
                             [](const std::string& name) { return ::if_nametoindex(name.c_str()) != 0; });
}

Result<UniqueFd> connect_to_daemon(const std::filesystem::path& run_dir, Instant deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = run_dir / kHookSocket;
  if (path.size() >= sizeof address.sun_path) return fail(Code::kInvalidArgument, "{} is too long a path", path);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  for (;;) {
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket) return fail_errno(errno, "cannot make a socket");
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
    if (std::chrono::steady_clock::now() >= deadline)
      return fail_errno(errno, fmt::format("the cardcage daemon does not serve {}", path));
    std::this_thread::sleep_for(kRetry);
  }
}

Status ask_daemon(const std::filesystem::path& run_dir, const HookRequest& request, SharedFd network_namespace) {
  const Instant deadline = std::chrono::steady_clock::now() + kHookLimit;
  auto socket = connect_to_daemon(run_dir, deadline);
  if (!socket) return std::unexpected(socket.error());
  const std::string message = to_message(request);
  if (send_with(socket->get(), message, {std::move(network_namespace)}) != static_cast<ssize_t>(message.size()) ||
      ::shutdown(socket->get(), SHUT_WR) != 0)
    return fail_errno(errno, "cannot ask the cardcage daemon");
  const auto left = std::chrono::ceil<std::chrono::seconds>(deadline - std::chrono::steady_clock::now());
  const timeval limit{.tv_sec = std::max<time_t>(left.count(), 1), .tv_usec = 0};
  ::setsockopt(socket->get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const auto answer = read_all(socket->get(), kMaxHookMessage);
  if (!answer) return within(answer.error(), "the cardcage daemon does not answer");
  if (*answer == kHookOk) return {};
  return fail(Code::kUnavailable, "{}", answer->empty() ? "the cardcage daemon ended before it answered" : *answer);
}

Result<ContainerState> read_state() {
  const auto json = read_all(STDIN_FILENO, kMaxState);
  if (!json) return std::unexpected(json.error());
  return parse_container_state(*json);
}

// Of the container's first process: the others inherit it. It stays where it is higher already.
Status lock_memory(std::string_view text) {
  rlim_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc() || end != text.data() + text.size())
    return fail(Code::kInvalidArgument, "'{}' is no number of bytes", text);
  const auto state = read_state();
  if (!state) return std::unexpected(state.error());
  const pid_t pid = state->pid;
  rlimit limit{};
  if (::prlimit(pid, RLIMIT_MEMLOCK, nullptr, &limit) != 0)
    return fail_errno(errno, fmt::format("cannot read the limits of process {}", pid));
  const rlimit wanted{.rlim_cur = std::max(limit.rlim_cur, bytes), .rlim_max = std::max(limit.rlim_max, bytes)};
  if (wanted.rlim_cur == limit.rlim_cur && wanted.rlim_max == limit.rlim_max) return {};
  if (::prlimit(pid, RLIMIT_MEMLOCK, &wanted, nullptr) == 0) return {};
  return fail_errno(errno, fmt::format("the container may lock {} bytes of memory, its device needs {}, and the "
                                       "container runtime must not raise that limit",
                                       limit.rlim_max, text));
}

Status attach(const std::filesystem::path& run_dir, const std::string& driver, const std::string& claim_uid) {
  auto state = read_state();
  if (!state) return std::unexpected(state.error());
  const std::string path = fmt::format("/proc/{}/ns/net", state->pid);
  const SharedFd network = std::make_shared<const UniqueFd>(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!*network) return fail_errno(errno, fmt::format("cannot open {}", path));
  const HookRequest request{.driver = driver,
                            .claim_uid = claim_uid,
                            .pod_namespace = std::move(state->pod_namespace),
                            .pod = std::move(state->pod),
                            .pod_uid = std::move(state->pod_uid)};
  if (is_attached(run_dir, request, network->get())) return {};
  return ask_daemon(run_dir, request, network);
}

}  // namespace
}  // namespace cardcage

int main(int argc, char** argv) {
  const bool is_limit = argc == 3 && argv[1] == cardcage::kLockMemory;
  if (!is_limit && argc != 4) {
    std::fprintf(stderr,
                 "usage: cardcage-hook RUN_DIR DRIVER CLAIM_UID < state of the container\n"
                 "       cardcage-hook lock-memory BYTES < state of the container\n");
    return 2;
  }
  const cardcage::Status done = is_limit ? cardcage::lock_memory(argv[2]) : cardcage::attach(argv[1], argv[2], argv[3]);
  if (done) return 0;
  std::fprintf(stderr, "cardcage: %s\n", done.error().message.c_str());
  return 1;
}
