#include "host/worker/confine.h"

#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <vector>

namespace cardcage {
namespace {

// System calls that no module needs for its hardware and that could harm the node. They fail with EPERM, as for an
// unprivileged process.
constexpr const char* kForbidden[] = {"acct",
                                      "add_key",
                                      "bpf",
                                      "chroot",
                                      "clock_settime",
                                      "delete_module",
                                      "execve",
                                      "execveat",
                                      "finit_module",
                                      "fsconfig",
                                      "fsmount",
                                      "fsopen",
                                      "fspick",
                                      "init_module",
                                      "io_uring_enter",
                                      "io_uring_register",
                                      "io_uring_setup",
                                      "kexec_file_load",
                                      "kexec_load",
                                      "keyctl",
                                      "mount",
                                      "mount_setattr",
                                      "move_mount",
                                      "open_by_handle_at",
                                      "open_tree",
                                      "perf_event_open",
                                      "pidfd_getfd",
                                      "pivot_root",
                                      "process_vm_readv",
                                      "process_vm_writev",
                                      "ptrace",
                                      "quotactl",
                                      "reboot",
                                      "request_key",
                                      "sethostname",
                                      "setns",
                                      "settimeofday",
                                      "swapoff",
                                      "swapon",
                                      "syslog",
                                      "umount2",
                                      "unshare",
                                      "userfaultfd"};
// clone(2) also makes threads, so only these of its flags are forbidden.
constexpr int kNamespaces[] = {CLONE_NEWCGROUP, CLONE_NEWIPC,  CLONE_NEWNET, CLONE_NEWNS,
                               CLONE_NEWPID,    CLONE_NEWUSER, CLONE_NEWUTS};

Status limit(const worker::v1::Confinement& wanted) {
  for (const auto& one : wanted.limits()) {
    const rlimit value{one.value(), one.value()};
    if (::setrlimit(static_cast<__rlimit_resource>(one.resource()), &value) != 0)
      return fail_errno(
          errno, fmt::format("module.process.limits: cannot set resource {} to {}", one.resource(), one.value()));
  }
  return {};
}

Result<std::vector<cap_value_t>> read_capabilities(const worker::v1::Confinement& wanted) {
  std::vector<cap_value_t> kept;
  for (const std::string& name : wanted.capabilities()) {
    cap_value_t number = 0;
    if (::cap_from_name(name.c_str(), &number) != 0)
      return fail(Code::kInvalidArgument, "module.process.capabilities: '{}' is not a capability here", name);
    kept.push_back(number);
  }
  return kept;
}

// Keeps programs that the worker starts from regaining the other capabilities.
Status bound_capabilities(const std::vector<cap_value_t>& kept) {
  const auto is_kept = [&](cap_value_t one) { return std::ranges::find(kept, one) != kept.end(); };
  for (cap_value_t one = 0; one <= CAP_LAST_CAP; ++one)
    if (!is_kept(one) && ::cap_get_bound(one) == 1 && ::cap_drop_bound(one) != 0 && errno != EPERM)
      return fail_errno(errno, "module.process.capabilities: cannot narrow the bounding set");
  return {};
}

Status set_capabilities(const std::vector<cap_value_t>& kept) {
  const std::unique_ptr<std::remove_pointer_t<cap_t>, decltype(&::cap_free)> set(::cap_init(), &::cap_free);
  const auto count = static_cast<int>(kept.size());
  for (const cap_flag_t flag : {CAP_PERMITTED, CAP_EFFECTIVE})
    if (count > 0 && ::cap_set_flag(set.get(), flag, count, kept.data(), CAP_SET) != 0)
      return fail_errno(errno, "module.process.capabilities");
  if (::cap_set_proc(set.get()) != 0)
    return fail_errno(errno, "module.process.capabilities: cannot keep them; does the daemon have them all?");
  return {};
}

// Keeps the permitted capabilities, from which set_capabilities() chooses.
Status become(const std::string& user) {
  std::array<char, 16u << 10> texts;
  passwd entry{}, *found = nullptr;
  if (const int error = ::getpwnam_r(user.c_str(), &entry, texts.data(), texts.size(), &found); !found)
    return error != 0
               ? fail_errno(error, fmt::format("module.process.user: cannot look up '{}'", user))
               : fail(Code::kFailedPrecondition, "module.process.user: there is no user '{}' here: add it", user);
  if (::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || ::initgroups(user.c_str(), entry.pw_gid) != 0 ||
      ::setresgid(entry.pw_gid, entry.pw_gid, entry.pw_gid) != 0 ||
      ::setresuid(entry.pw_uid, entry.pw_uid, entry.pw_uid) != 0)
    return fail_errno(errno,
                      fmt::format("module.process.user: cannot become '{}'; does the daemon run as root?", user));
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a change of the user clears this setting
  return {};
}

Status set_rights(const worker::v1::Confinement& wanted) {
  if (wanted.keep_capabilities()) return {};
  const auto kept = read_capabilities(wanted);
  if (!kept) return std::unexpected(kept.error());
  if (auto bound = bound_capabilities(*kept); !bound) return bound;
  if (!wanted.user().empty())
    if (auto became = become(wanted.user()); !became) return became;
  return set_capabilities(*kept);
}

Status filter_clone(scmp_filter_ctx filter) {
  for (const int flag : kNamespaces) {
    const auto bit = static_cast<scmp_datum_t>(static_cast<unsigned>(flag));
    const scmp_arg_cmp has_bit{.arg = 0, .op = SCMP_CMP_MASKED_EQ, .datum_a = bit, .datum_b = bit};
    if (const int error = ::seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, &has_bit);
        error != 0)
      return fail_errno(-error, "module.process.seccomp: clone");
  }
  // The flags of clone3 lie in memory, which no filter reads. The C library falls back to clone(2).
  if (const int error = ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0); error != 0)
    return fail_errno(-error, "module.process.seccomp: clone3");
  return {};
}

Status filter_calls() {
  const std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, decltype(&::seccomp_release)> filter(
      ::seccomp_init(SCMP_ACT_ALLOW), &::seccomp_release);
  if (!filter) return fail(Code::kResourceExhausted, "module.process.seccomp: no memory for the filter");
  for (const char* name : kForbidden) {
    const int number = ::seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR) continue;  // known to a newer kernel, but not to this libseccomp
    if (const int error = ::seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), number, 0); error != 0)
      return fail_errno(-error, fmt::format("module.process.seccomp: {}", name));
  }
  if (auto filtered = filter_clone(filter.get()); !filtered) return filtered;
  if (const int error = ::seccomp_load(filter.get()); error != 0)
    return fail_errno(-error, "module.process.seccomp: the kernel does not take the filter");
  return {};
}

}  // namespace

Status confine(const worker::v1::Confinement& wanted) {
  if (auto limited = limit(wanted); !limited) return limited;
  if (auto set = set_rights(wanted); !set) return set;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail_errno(errno, "cannot set no_new_privs");
  return wanted.seccomp() ? filter_calls() : Status{};
}

}  // namespace cardcage
