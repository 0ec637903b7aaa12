#include "host/access/program.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "host/access/checked_program.h"
#include "host/core/file.h"
#include "host/process/start_child.h"

namespace cardcage {
namespace {

constexpr int kMaxPipePieces = 64;  // pieces; exceeds the kernel's pipe buffer
constexpr std::chrono::milliseconds kPause{2};

// One output of the program. Shared with the coroutine that reads it.
struct Output {
  explicit Output(asio::io_context& core) : pipe(core), pause(core), ended(core) {}
  void take(std::string_view piece) {
    const std::size_t room = kMaxProgramOutput - text.size();
    text += piece.substr(0, room);
    cut = cut || piece.size() > room;
  }
  asio::posix::stream_descriptor pipe;
  asio::steady_timer pause;
  OneShot<bool> ended;  // the pipe has no reader any more
  std::string text;
  bool cut = false, over = false;
};

// Discarded output is read slowly, so that it does not keep the core busy.
Task<void> read(std::shared_ptr<Output> output) {
  std::array<char, 16u << 10> piece;
  boost::system::error_code failed;
  while (!failed && !output->over) {
    const std::size_t size =
        co_await output->pipe.async_read_some(asio::buffer(piece), asio::redirect_error(asio::use_awaitable, failed));
    output->take({piece.data(), size});
    if (!output->cut) continue;
    output->pause.expires_after(kPause);
    boost::system::error_code woken;
    co_await output->pause.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  output->ended.set(true);
}

// Takes the output that is there already: a process forked by the program may hold the pipe open forever.
Task<void> end(std::shared_ptr<Output> output) {
  output->over = true;
  boost::system::error_code failed;
  output->pipe.cancel(failed);
  output->pause.cancel();
  co_await output->ended.wait();
  std::array<char, 16u << 10> piece;
  failed = {};
  for (int i = 0; i < kMaxPipePieces && !failed; ++i) {
    const std::size_t size = output->pipe.read_some(asio::buffer(piece), failed);
    output->take({piece.data(), size});
  }
  output->pipe.close(failed);
}

struct Running {
  std::shared_ptr<ChildProcess> child;
  OneShot<bool> ended;
  std::shared_ptr<Output> out, err;
};

Result<UniqueFd> open_pipe(Output& output) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "cannot make a pipe for a program");
  UniqueFd ours(ends[0]), lower(ends[1]);
  boost::system::error_code failed;
  output.pipe.assign(ours.get(), failed);
  if (!failed) ours.release();
  if (!failed) output.pipe.non_blocking(true, failed);
  if (failed) return fail(Code::kResourceExhausted, "cannot read the output of a program: {}", failed.message());
  return lower;
}

// A file never blocks its reader, and needs no writer beside the program.
Result<UniqueFd> file_with(const std::string& input) {
  UniqueFd file(::memfd_create("cardcage input", MFD_CLOEXEC));
  if (!file || !write_all(file.get(), input) || ::lseek(file.get(), 0, SEEK_SET) != 0)
    return fail_errno(errno, "cannot make the input of a program");
  return file;
}

Result<Running> start(asio::io_context& core, ProgramCommand command, std::shared_ptr<ControlGroup> group) {
  const auto program = check_program(command.file, command.environment);
  if (!program) return within(program.error(), "cannot start '{}'", command.file.native());
  Running running{nullptr, OneShot<bool>(core), std::make_shared<Output>(core), std::make_shared<Output>(core)};
  const auto out = open_pipe(*running.out), err = open_pipe(*running.err);
  if (!out || !err) return std::unexpected((out ? err : out).error());
  const auto input = file_with(command.input);
  if (!input) return std::unexpected(input.error());
  SpawnPlan plan(STDERR_FILENO);
  plan.give(input->get(), STDIN_FILENO);
  plan.give(out->get(), STDOUT_FILENO);
  plan.give(err->get(), STDERR_FILENO);
  plan.execute(program->path_by(program->folder()), program->folder());
  auto child =
      start_child(plan, command.file, std::move(command.arguments), std::move(command.environment), std::move(group));
  if (!child) return std::unexpected(child.error());
  auto ended = end_event(core, *child);
  if (!ended) return std::unexpected(ended.error());
  running.child = std::move(child->process);
  running.ended = std::move(*ended);
  return running;
}

}  // namespace

Task<Result<ExecResult>> run_program(asio::io_context& core, Clock& clock, ProgramCommand command,
                                     std::shared_ptr<ControlGroup> group, Instant deadline,
                                     std::function<void(std::shared_ptr<ChildProcess>)> started) {
  const std::filesystem::path file = command.file;
  auto running = start(core, std::move(command), std::move(group));
  if (!running) co_return std::unexpected(running.error());
  ChildProcess& child = *running->child;
  started(running->child);
  const OneShot<bool> ended = running->ended;
  spawn(core, read(running->out));
  spawn(core, read(running->err));
  const bool in_time = (co_await ended.wait_until(clock, deadline)).has_value();
  child.kill();  // kills the program's forks, too
  if (!in_time) co_await ended.wait_until(clock, clock.now() + kEndLimit);
  co_await end(running->out);
  co_await end(running->err);
  if (!child.has_exited())
    co_return fail(Code::kUnavailable, "'{}' (pid {}) was killed and does not end: it {}", file.native(), child.pid(),
                   hold_of(child.pid()));
  ExecResult result;
  result.exit_status = child.exit_status();
  result.signal = child.signal();
  result.timed_out = !in_time;
  result.cut = running->out->cut || running->err->cut;
  result.out = std::move(running->out->text);
  result.err = std::move(running->err->text);
  co_return result;
}

}  // namespace cardcage
