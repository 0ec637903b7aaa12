#include "host/module/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/write.hpp>

#include "host/process/start_child.h"

namespace cardcage {
namespace {

constexpr std::size_t kPiece = 64u << 10;
constexpr int kMaxStreamPieces = 16;  // pieces; exceeds the kernel's stream buffer
constexpr int kReapMilliseconds = 100;
// Limits for unsolicited data per period: 20,000 reports and 2.5 MiB of output in a second.
constexpr Duration kPeriod = std::chrono::milliseconds(100);
constexpr std::size_t kMaxReports = 2000, kMaxPrintedBytes = 256u << 10;

}  // namespace

WorkerProcess::WorkerProcess(asio::io_context& core, Events events)
    : core_(core),
      events_(std::move(events)),
      socket_(core),
      output_(core),
      end_(core),
      reports_(core, kMaxReports),
      printed_bytes_(core, kMaxPrintedBytes) {}

Result<std::shared_ptr<WorkerProcess>> WorkerProcess::start(asio::io_context& core, const Program& program, int image,
                                                            Events events) {
  std::shared_ptr<WorkerProcess> worker(new WorkerProcess(core, std::move(events)));
  if (auto spawned = worker->spawn_child(program, image); !spawned) return std::unexpected(spawned.error());
  spawn(core, read(worker, worker->socket_, worker->reports_, &WorkerProcess::take_messages));
  spawn(core, read(worker, worker->output_, worker->printed_bytes_, &WorkerProcess::take_output));
  spawn(core, await_end(worker));
  return worker;
}

Status WorkerProcess::spawn_child(const Program& program, int image) {
  int pair[2], pipe[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return fail_errno(errno, "cannot make a socket for a worker");
  UniqueFd ours(pair[0]);
  const UniqueFd theirs(pair[1]);
  if (::pipe2(pipe, O_CLOEXEC) != 0) return fail_errno(errno, "cannot make a pipe for a worker");
  UniqueFd printed(pipe[0]);
  const UniqueFd print(pipe[1]);

  SpawnPlan plan(kLastWorkerFd);
  plan.give_nothing(STDIN_FILENO);
  plan.give(print.get(), STDOUT_FILENO);
  plan.give(print.get(), STDERR_FILENO);
  plan.give(theirs.get(), kWorkerSocket);
  plan.give(image, kWorkerModule);
  // The worker joins its group before it is told to load a module, so that every fork of the module starts there.
  auto child = start_child(plan, program.file, {}, program.environment, program.group);
  if (!child) return std::unexpected(child.error());
  child_ = std::move(child->process);
  socket_.assign(asio::local::stream_protocol(), ours.release());
  output_.assign(printed.release());
  end_.assign(child->end.release());
  socket_.non_blocking(true);
  output_.non_blocking(true);
  return {};
}

void WorkerProcess::close() {
  if (!child_ || std::exchange(ended_, true)) return;
  child_->kill();
  // Usually the worker exits at once and is reaped here.
  pollfd exited{child_->descriptor(), POLLIN, 0};
  if (::poll(&exited, 1, kReapMilliseconds) > 0) child_->has_exited();
  close_streams();
}

void WorkerProcess::close_streams() {
  reports_.pause.cancel();
  printed_bytes_.pause.cancel();
  boost::system::error_code ignored;
  socket_.close(ignored);
  output_.close(ignored);
  end_.close(ignored);
}

void WorkerProcess::kill() { child_->kill(); }

Status WorkerProcess::send(wire::Request request, Descriptors descriptors) {
  request.set_descriptors(static_cast<std::uint32_t>(descriptors.size()));
  auto frame = encode_frame(request);
  if (!frame) return std::unexpected(frame.error());
  frames_.push_back({std::move(*frame), std::move(descriptors)});
  if (!std::exchange(writing_, true)) spawn(core_, write_messages(shared_from_this()));
  return {};
}

Task<void> WorkerProcess::write_messages(std::shared_ptr<WorkerProcess> self) {
  while (!self->frames_.empty() && !self->ended_) {
    const Frame frame = std::move(self->frames_.front());
    self->frames_.pop_front();
    boost::system::error_code failed;  // the worker is about to exit: await_end() notices
    const std::size_t sent = frame.descriptors.empty() ? 0 : co_await self->send_descriptors(frame, failed);
    if (failed) continue;
    co_await asio::async_write(self->socket_, asio::buffer(frame.bytes) + sent,
                               asio::redirect_error(asio::use_awaitable, failed));
  }
  self->writing_ = false;
}

Task<std::size_t> WorkerProcess::send_descriptors(const Frame& frame, boost::system::error_code& failed) {
  for (;;) {
    const ssize_t sent = send_with(socket_.native_handle(), frame.bytes, frame.descriptors);
    if (sent >= 0) co_return static_cast<std::size_t>(sent);
    if (errno != EAGAIN && errno != EINTR) failed.assign(errno, boost::system::system_category());
    if (failed) co_return 0;
    co_await socket_.async_wait(asio::socket_base::wait_write, asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return 0;
  }
}

template <class Stream>
Task<void> WorkerProcess::read(std::shared_ptr<WorkerProcess> self, Stream& stream, Pace& pace,
                               void (WorkerProcess::*take)(std::string_view)) {
  SystemClock clock;  // a worker does not wait for a stopped test clock
  std::vector<char> piece(kPiece);
  Instant end = clock.now() + kPeriod;
  while (!self->ended_) {
    boost::system::error_code failed;
    const std::size_t size =
        co_await stream.async_read_some(asio::buffer(piece), asio::redirect_error(asio::use_awaitable, failed));
    if (failed || self->ended_) co_return;
    ((*self).*take)({piece.data(), size});
    if (clock.now() < end && pace.said <= pace.limit) continue;
    co_await clock.wait(pace.pause, end);
    pace.said = 0;
    end = clock.now() + kPeriod;
  }
}

void WorkerProcess::take_messages(std::string_view bytes) {
  if (!broken_.empty()) return;
  reader_.append(bytes);
  while (!ended_) {
    wire::Report report;
    const auto read = reader_.next(report);
    if (!read) {
      broken_ = read.error().message;
      return kill();
    }
    if (!*read) return;
    if (!report.has_answer()) ++reports_.said;
    events_.report(report);
  }
}

void WorkerProcess::take_output(std::string_view bytes) {
  printed_bytes_.said += bytes.size();
  lines_.add(bytes, events_.printed);
}

Task<void> WorkerProcess::await_end(std::shared_ptr<WorkerProcess> self) {
  boost::system::error_code failed;
  co_await self->end_.async_wait(asio::posix::stream_descriptor::wait_read,
                                 asio::redirect_error(asio::use_awaitable, failed));
  if (!failed && !self->ended_) self->end();
}

// Reads the buffered data without waiting for the end of the stream: a process that the worker forked may hold it open
// and never be silent.
template <class Stream>
void WorkerProcess::take_rest(Stream& stream, void (WorkerProcess::*take)(std::string_view)) {
  std::vector<char> piece(kPiece);
  for (int i = 0; i < kMaxStreamPieces; ++i) {
    boost::system::error_code empty;
    const std::size_t size = stream.read_some(asio::buffer(piece), empty);
    if (size == 0) return;
    (this->*take)({piece.data(), size});
  }
}

void WorkerProcess::end() {
  child_->kill();
  take_rest(socket_, &WorkerProcess::take_messages);
  take_rest(output_, &WorkerProcess::take_output);
  if (ended_) return;  // an event has closed the object
  lines_.flush(events_.printed);
  child_->has_exited();
  std::string how = child_->end();
  ended_ = true;
  close_streams();
  if (!broken_.empty()) how = fmt::format("sent an invalid message ({}) and {}", broken_, how);
  events_.ended(how);
}

}  // namespace cardcage
