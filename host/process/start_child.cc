#include "host/process/start_child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "host/core/log.h"
#include "host/core/pid.h"
#include "host/core/process_stat.h"

namespace cardcage {

namespace {

// glibc 2.36 declares pidfd_open for C alone.
UniqueFd open_process(pid_t pid) { return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

Task<void> await_readable(std::shared_ptr<asio::posix::stream_descriptor> stream, OneShot<bool> readable) {
  boost::system::error_code failed;
  co_await stream->async_wait(asio::posix::stream_descriptor::wait_read,
                              asio::redirect_error(asio::use_awaitable, failed));
  readable.set(true);
}

}  // namespace

Result<StartedChild> start_child(SpawnPlan& plan, const std::filesystem::path& file, std::vector<std::string> arguments,
                                 std::vector<std::string> environment, std::shared_ptr<ControlGroup> group) {
  const auto started = plan.run(file, std::move(arguments), std::move(environment));
  if (!started) return std::unexpected(started.error());
  const pid_t pid = *started;
  UniqueFd descriptor = open_process(pid);
  UniqueFd end(descriptor ? ::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 0) : -1);
  if (!end) {
    const int error = errno;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return fail_errno(error, fmt::format("cannot watch '{}'", file.native()));
  }
  if (const Status added = group ? group->add(pid) : Status(); !added)
    log_limited(LogLevel::kWarn, "control group", "a process gets no control group: what it forks may outlive it",
                {{"program", file.native()}, {"pid", pid}, {"error", added.error().message}});
  return StartedChild{std::make_shared<ChildProcess>(pid, std::move(descriptor), std::move(group)), std::move(end)};
}

std::optional<StartedChild> adopt_child(pid_t pid, const std::string& begun, std::shared_ptr<ControlGroup> group) {
  if (!valid_pid(pid)) return std::nullopt;
  UniqueFd descriptor = open_process(pid);  // first: the open descriptor keeps the pid from being reused
  UniqueFd end(descriptor ? ::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 0) : -1);
  if (!end || begun.empty() || begin_of(pid) != begun) return std::nullopt;
  return StartedChild{std::make_shared<ChildProcess>(pid, std::move(descriptor), std::move(group)), std::move(end)};
}

std::string begin_of(pid_t pid) {
  constexpr int kStartTime = 22;
  return stat_field(fmt::format("/proc/{}", pid), kStartTime);
}

Result<OneShot<bool>> readable_event(asio::io_context& core, UniqueFd descriptor) {
  const auto stream = std::make_shared<asio::posix::stream_descriptor>(core);
  boost::system::error_code failed;
  stream->assign(descriptor.get(), failed);
  if (failed) return fail(Code::kResourceExhausted, "cannot wait for a process: {}", failed.message());
  descriptor.release();
  const OneShot<bool> readable(core);
  spawn(core, await_readable(stream, readable));
  return readable;
}

Result<OneShot<bool>> end_event(asio::io_context& core, StartedChild& child) {
  auto ended = readable_event(core, std::move(child.end));
  if (!ended) {
    child.process->kill();
    ::waitpid(child.process->pid(), nullptr, 0);
  }
  return ended;
}

}  // namespace cardcage
