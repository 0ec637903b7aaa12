// cardcage-hook: a createRuntime hook (OCI runtime specification) of containers whose claim has devices that a module
// moves to their pod. It lets a container start if the devices are there, has the daemon move them if they are not, and
// fails the container otherwise: the runtime starts containers without devices if the daemon's NRI plugin misses the
// pod.
//
// cardcage-hook RUN_DIR DRIVER CLAIM_UID < state of the container
//
// It also raises the limit of the memory that a container may lock, which CDI cannot express:
//
// cardcage-hook lock-memory BYTES < state of the container
//
// And as a createContainer hook it changes the container's root: programs find libraries that were mounted into it, and
// files below /proc have another text.
//
// cardcage-hook change-root CHANGE... < state of the container
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <span>

#include "host/core/descriptors.h"
#include "host/core/number.h"
#include "host/hook/attachment_files.h"
#include "host/hook/container_root.h"
#include "host/hook/container_state.h"
#include "host/hook/daemon_call.h"
#include "host/hook/hook_request.h"
#include "host/hook/root_changes.h"
#include "host/hook/show_libraries.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxState = 1u << 20;

// True if the daemon has attached the claim to this sandbox, and the interfaces that its file names are still there.
// The file proves nothing if it names none, or if the runtime does not tell the sandbox.
bool is_attached(const std::filesystem::path& run_dir, const HookRequest& request, int network_namespace) {
  struct stat its{};
  if (::fstat(network_namespace, &its) != 0) return false;
  const auto pod = read_attachment(run_dir / kAttachmentsFolder, {request.driver, request.claim_uid, its.st_ino});
  if (!pod || pod->interfaces.empty() || request.sandbox.empty() || pod->sandbox != request.sandbox) return false;
  if (::setns(network_namespace, CLONE_NEWNET) != 0) return false;
  return std::ranges::all_of(pod->interfaces,
                             [](const std::string& name) { return ::if_nametoindex(name.c_str()) != 0; });
}

Result<ContainerState> read_state(HookDeadline deadline) {
  const auto json = read_all(STDIN_FILENO, kMaxState, deadline);
  if (!json) return within(json.error(), "cannot read the state of the container");
  return parse_container_state(*json);
}

Result<pid_t> process_of(const ContainerState& state) {
  if (state.pid) return *state.pid;
  return fail(Code::kInvalidArgument, "the container runtime gives no state of a container with a pid");
}

// Raises the limit of the container's first process; the others inherit it. A higher limit stays unchanged.
Status lock_memory(std::string_view text, HookDeadline deadline) {
  const auto bytes = number_from<rlim_t>(text);
  if (!bytes) return fail(Code::kInvalidArgument, "'{}' is not a number of bytes", text);
  const auto state = read_state(deadline);
  if (!state) return std::unexpected(state.error());
  const auto pid = process_of(*state);
  if (!pid) return std::unexpected(pid.error());
  rlimit limit{};
  if (::prlimit(*pid, RLIMIT_MEMLOCK, nullptr, &limit) != 0)
    return fail_errno(errno, fmt::format("cannot read the limits of process {}", *pid));
  const rlimit wanted{.rlim_cur = std::max(limit.rlim_cur, *bytes), .rlim_max = std::max(limit.rlim_max, *bytes)};
  if (wanted.rlim_cur == limit.rlim_cur && wanted.rlim_max == limit.rlim_max) return {};
  if (::prlimit(*pid, RLIMIT_MEMLOCK, &wanted, nullptr) == 0) return {};
  return fail_errno(errno, fmt::format("the container may lock {} bytes of memory, its device needs {}, and the "
                                       "container runtime may not raise that limit",
                                       limit.rlim_max, text));
}

void print(const Error& error) { std::fprintf(stderr, "cardcage: %s\n", error.message.c_str()); }

Status change_root(std::span<const char* const> arguments, HookDeadline deadline) {
  const auto changes = root_changes_from(arguments);
  if (!changes) return std::unexpected(changes.error());
  const auto state = read_state(deadline);
  if (!state) return std::unexpected(state.error());
  const auto root = ContainerRoot::of_bundle(state->bundle);
  if (!root) return std::unexpected(root.error());
  // A container can start without these: an odd image is not a reason to stop it.
  if (const Status shown = show_libraries(*root, changes->ld_paths); !shown) print(shown.error());
  for (const ProcText& one : changes->proc_texts)
    if (const auto covered = root->cover(one.path, one.text); !covered) print(covered.error());
  return {};
}

Status attach(const std::filesystem::path& run_dir, const std::string& driver, const std::string& claim_uid,
              HookDeadline deadline) {
  auto state = read_state(deadline);
  if (!state) return std::unexpected(state.error());
  const auto pid = process_of(*state);
  if (!pid) return std::unexpected(pid.error());
  const std::string path = fmt::format("/proc/{}/ns/net", *pid);
  const SharedFd network = std::make_shared<const UniqueFd>(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!*network) return fail_errno(errno, fmt::format("cannot open {}", path));
  const HookRequest request{.driver = driver,
                            .claim_uid = claim_uid,
                            .pod_namespace = std::move(state->pod_namespace),
                            .pod = std::move(state->pod),
                            .pod_uid = std::move(state->pod_uid),
                            .sandbox = std::move(state->sandbox)};
  if (is_attached(run_dir, request, network->get())) return {};
  return ask_daemon(run_dir, request, network, deadline);
}

}  // namespace
}  // namespace cardcage

int main(int argc, char** argv) {
  using namespace cardcage;
  const std::span<const char* const> arguments(argv + 1, static_cast<std::size_t>(std::max(argc, 1) - 1));
  const auto deadline = std::chrono::steady_clock::now() + kHookLimit;
  Status done;
  if (arguments.size() == 2 && arguments[0] == kLockMemory) {
    done = lock_memory(arguments[1], deadline);
  } else if (arguments.size() > 1 && arguments[0] == kChangeRoot) {
    done = change_root(arguments.subspan(1), deadline);
  } else if (arguments.size() == 3) {
    done = attach(arguments[0], arguments[1], arguments[2], deadline);
  } else {
    std::fprintf(stderr,
                 "usage: cardcage-hook RUN_DIR DRIVER CLAIM_UID < state of the container\n"
                 "       cardcage-hook lock-memory BYTES < state of the container\n"
                 "       cardcage-hook change-root CHANGE... < state of the container\n");
    return 2;
  }
  if (done) return 0;
  print(done.error());
  return 1;
}
