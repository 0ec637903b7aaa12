#include "host/access/hardware_access.h"

#include <sys/socket.h>

#include "host/process/own_programs.h"
#include "host/process/start_child.h"
#include "host/wire/frame.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxResult = 64u << 10;
constexpr std::size_t kMaxStuck = 256;  // per module: a module that invents device ids costs a process for each

struct Started {
  std::shared_ptr<RunningAccess> access;
  UniqueFd socket;
};

Task<void> watch(std::shared_ptr<RunningAccess> access, OneShot<bool> ended, std::shared_ptr<StuckDevices> stuck) {
  co_await ended.wait();
  access->process->has_exited();  // reaps it
  access->first.set(true);
  access->ended.set(true);
  stuck->remove(access);
}

std::unexpected<Error> not_started(Error why) {
  if (why.code != Code::kNotFound && why.code != Code::kPermissionDenied) return std::unexpected(std::move(why));
  return fail(Code::kFailedPrecondition, "{}: install cardcage-access beside cardcage", why.message);
}

Result<Started> start(asio::io_context& core, Clock& clock, HardwareAccess& wanted,
                      std::shared_ptr<StuckDevices> stuck) {
  const auto file = access_file();
  if (!file) return std::unexpected(file.error());
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return fail_errno(errno, "cannot make a socket for a process");
  UniqueFd ours(pair[0]);
  const UniqueFd theirs(pair[1]);
  const std::string message = wanted.message.SerializeAsString();
  if (::send(ours.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
    return fail_errno(errno, "cannot tell a process what to do");
  SpawnPlan plan(kWorkerSocket);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) plan.give_nothing(standard);
  plan.give(theirs.get(), kWorkerSocket);
  auto child = start_child(plan, *file, {}, {}, nullptr);
  if (!child) return not_started(std::move(child.error()));
  const auto ended = end_event(core, *child);
  if (!ended) return std::unexpected(ended.error());
  auto access = std::make_shared<RunningAccess>(std::move(wanted.device), std::move(wanted.what), clock.wall(),
                                                std::move(child->process), OneShot<bool>(core), OneShot<bool>(core));
  spawn(core, watch(access, *ended, std::move(stuck)));
  return Started{std::move(access), std::move(ours)};
}

Result<std::string> result_of(const Started& started) {
  std::string message(kMaxResult, '\0');
  const ssize_t size = ::recv(started.socket.get(), message.data(), message.size(), MSG_DONTWAIT);
  wire::AccessResult result;
  if (size <= 0 || !result.ParseFromArray(message.data(), static_cast<int>(size)))
    return fail(Code::kInternal, "the process that made it {}", started.access->process->end());
  if (!result.done()) return fail(static_cast<Code>(result.code()), "{}", result.message());
  return std::move(*result.mutable_content());
}

}  // namespace

Task<Result<std::string>> make_access(asio::io_context& core, Clock& clock, HardwareAccess access, Instant deadline,
                                      std::shared_ptr<StuckDevices> stuck,
                                      std::function<void(std::shared_ptr<RunningAccess>)> started) {
  if (const auto why = stuck->find(access.device)) co_return fail(Code::kUnavailable, "{}", *why);
  if (stuck->count(access.device.module) >= kMaxStuck)
    co_return fail(Code::kResourceExhausted, "{} accesses of the module are stuck: restart the node", kMaxStuck);
  if (deadline <= clock.now()) co_return fail(Code::kDeadlineExceeded, "no time is left for {}", access.what);
  const auto running = start(core, clock, access, stuck);
  if (!running) co_return std::unexpected(running.error());
  const std::shared_ptr<RunningAccess> it = running->access;
  started(it);
  const std::optional<bool> first = co_await it->first.wait_until(clock, deadline);
  const bool done = first.value_or(false);
  if (!done) {
    it->process->kill();
    co_await it->ended.wait_until(clock, clock.now() + kEndLimit);
  }
  if (!it->process->has_exited()) {
    stuck->add(it);
    co_return fail(Code::kDeadlineExceeded, "{}", stuck->find(it->device).value_or(it->what));
  }
  if (!done)
    co_return fail(first ? Code::kCancelled : Code::kDeadlineExceeded,
                   "{} {} and was stopped: it may have happened in part", it->what,
                   first ? "outlived the instance of its module" : "did not end in time");
  co_return result_of(*running);
}

}  // namespace cardcage
