#include "host/worker/confine.h"

#include <seccomp.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>
#include <memory>
#include <vector>

namespace cardcage {
namespace {

// System calls that no module needs for its hardware and that could hurt the node. They fail with EPERM, as they do for
// an unprivileged process.
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
                                      "init_module",
                                      "kexec_file_load",
                                      "kexec_load",
                                      "keyctl",
                                      "mount",
                                      "move_mount",
                                      "open_tree",
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

Status limit(const worker::v1::Confinement& wanted) {
  for (const auto& one : wanted.limits()) {
    const rlimit value{one.value(), one.value()};
    if (::setrlimit(static_cast<__rlimit_resource>(one.resource()), &value) != 0)
      return fail_errno(
          errno, fmt::format("module.process.limits: cannot set resource {} to {}", one.resource(), one.value()));
  }
  return {};
}

// Drops them from the bounding set, too, so that no program that the worker starts gets them back.
Status drop_capabilities(const std::vector<cap_value_t>& kept) {
  const auto is_kept = [&](cap_value_t one) { return std::ranges::find(kept, one) != kept.end(); };
  for (cap_value_t one = 0; one <= CAP_LAST_CAP; ++one)
    if (!is_kept(one) && ::cap_get_bound(one) == 1 && ::cap_drop_bound(one) != 0 && errno != EPERM)
      return fail_errno(errno, "module.process.capabilities: cannot narrow the bounding set");
  const std::unique_ptr<std::remove_pointer_t<cap_t>, decltype(&::cap_free)> set(::cap_init(), &::cap_free);
  const auto count = static_cast<int>(kept.size());
  for (const cap_flag_t flag : {CAP_PERMITTED, CAP_EFFECTIVE})
    if (count > 0 && ::cap_set_flag(set.get(), flag, count, kept.data(), CAP_SET) != 0)
      return fail_errno(errno, "module.process.capabilities");
  if (::cap_set_proc(set.get()) != 0)
    return fail_errno(errno, "module.process.capabilities: cannot keep them; does the daemon have them all?");
  return {};
}

Status keep_capabilities(const worker::v1::Confinement& wanted) {
  std::vector<cap_value_t> kept;
  for (const std::string& name : wanted.capabilities()) {
    cap_value_t number = 0;
    if (::cap_from_name(name.c_str(), &number) != 0)
      return fail(Code::kInvalidArgument, "module.process.capabilities: '{}' is no capability here", name);
    kept.push_back(number);
  }
  return drop_capabilities(kept);
}

Status filter_calls() {
  const std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, decltype(&::seccomp_release)> filter(
      ::seccomp_init(SCMP_ACT_ALLOW), &::seccomp_release);
  if (!filter) return fail(Code::kResourceExhausted, "module.process.seccomp: no memory for the filter");
  for (const char* name : kForbidden) {
    const int number = ::seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR) continue;  // a newer kernel's, which this libseccomp does not know
    if (const int error = ::seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), number, 0); error != 0)
      return fail_errno(-error, fmt::format("module.process.seccomp: {}", name));
  }
  if (const int error = ::seccomp_load(filter.get()); error != 0)
    return fail_errno(-error, "module.process.seccomp: the kernel does not take the filter");
  return {};
}

}  // namespace

Status confine(const worker::v1::Confinement& wanted) {
  if (auto limited = limit(wanted); !limited) return limited;
  if (!wanted.keep_capabilities())
    if (auto kept = keep_capabilities(wanted); !kept) return kept;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail_errno(errno, "cannot set no_new_privs");
  return wanted.seccomp() ? filter_calls() : Status{};
}

}  // namespace cardcage
