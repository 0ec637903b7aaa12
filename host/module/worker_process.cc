#include "host/module/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <boost/asio/write.hpp>

namespace cardcage {
namespace {

constexpr std::size_t kMaxLine = 2048;
constexpr std::size_t kPiece = 64 * 1024;
constexpr int kLastPieces = 16;  // more than the kernel keeps of a stream
constexpr int kReapMilliseconds = 100;

// What posix_spawn shall do in the child, freed with the object.
class SpawnPlan {
 public:
  SpawnPlan() {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawnattr_init(&attributes_);
    sigset_t all, none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  void give(int fd, int as) { ::posix_spawn_file_actions_adddup2(&files_, fd, as); }
  void give_nothing(int as) { ::posix_spawn_file_actions_addopen(&files_, as, "/dev/null", O_RDONLY, 0); }
  void give_no_more() { ::posix_spawn_file_actions_addclosefrom_np(&files_, kLastWorkerFd + 1); }
  int run(const std::filesystem::path& file, const std::vector<std::string>& environment, pid_t& pid) const {
    std::string name = file.filename();
    std::array<char*, 2> arguments{name.data(), nullptr};
    std::vector<char*> variables;
    for (const std::string& variable : environment) variables.push_back(const_cast<char*>(variable.c_str()));
    variables.push_back(nullptr);
    return ::posix_spawn(&pid, file.c_str(), &files_, &attributes_, arguments.data(), variables.data());
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

// Above those that the child gets, or one dup2 could overwrite the source of the next.
Result<UniqueFd> high(UniqueFd fd) {
  UniqueFd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kLastWorkerFd + 1));
  if (!moved) return fail_errno(errno, "cannot duplicate a descriptor for a worker");
  return moved;
}

}  // namespace

WorkerProcess::WorkerProcess(asio::io_context& core, Events events)
    : core_(core), events_(std::move(events)), socket_(core), output_(core), end_(core) {}

Result<std::shared_ptr<WorkerProcess>> WorkerProcess::start(asio::io_context& core, const Program& program, int image,
                                                            Events events) {
  const std::shared_ptr<WorkerProcess> worker(new WorkerProcess(core, std::move(events)));
  if (auto spawned = worker->spawn_child(program, image); !spawned) return std::unexpected(spawned.error());
  spawn(core, read(worker, &WorkerProcess::socket_, &WorkerProcess::take_messages));
  spawn(core, read(worker, &WorkerProcess::output_, &WorkerProcess::take_output));
  spawn(core, await_end(worker));
  return worker;
}

Status WorkerProcess::spawn_child(const Program& program, int image) {
  int pair[2], pipe[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return fail_errno(errno, "cannot make a socket for a worker");
  UniqueFd ours(pair[0]);
  auto theirs = high(UniqueFd(pair[1]));
  if (!theirs) return std::unexpected(theirs.error());
  if (::pipe2(pipe, O_CLOEXEC) != 0) return fail_errno(errno, "cannot make a pipe for a worker");
  UniqueFd printed(pipe[0]);
  auto print = high(UniqueFd(pipe[1]));
  auto module = high(UniqueFd(::fcntl(image, F_DUPFD_CLOEXEC, 0)));
  if (!print || !module) return std::unexpected((print ? module : print).error());

  SpawnPlan plan;
  plan.give_nothing(STDIN_FILENO);
  plan.give(print->get(), STDOUT_FILENO);
  plan.give(print->get(), STDERR_FILENO);
  plan.give(theirs->get(), kWorkerSocket);
  plan.give(module->get(), kWorkerModule);
  plan.give_no_more();
  pid_t pid = -1;
  if (const int error = plan.run(program.file, program.environment, pid); error != 0)
    return fail_errno(error, fmt::format("cannot start '{}'", program.file.native()));
  UniqueFd child(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));  // glibc 2.36 declares it for C alone
  UniqueFd end(child ? ::fcntl(child.get(), F_DUPFD_CLOEXEC, 0) : -1);
  if (!end) {
    const int error = errno;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return fail_errno(error, "cannot watch a worker");
  }
  child_ = std::make_shared<ChildProcess>(pid, std::move(child));
  socket_.assign(asio::local::stream_protocol(), ours.release());
  output_.assign(printed.release());
  end_.assign(end.release());
  socket_.non_blocking(true);
  output_.non_blocking(true);
  return {};
}

// It mostly goes at once, and then it is reaped here.
WorkerProcess::~WorkerProcess() {
  if (!child_ || ended_) return;
  child_->kill();
  pollfd over{child_->descriptor(), POLLIN, 0};
  if (::poll(&over, 1, kReapMilliseconds) > 0) child_->is_gone();
}

void WorkerProcess::kill() { child_->kill(); }

Status WorkerProcess::send(const wire::Request& request) {
  auto frame = encode_frame(request);
  if (!frame) return std::unexpected(frame.error());
  frames_.push_back(std::move(*frame));
  if (!std::exchange(writing_, true)) spawn(core_, write_messages(weak_from_this()));
  return {};
}

// The coroutines hold no reference while they wait, or a worker would live as long as its own silence.
Task<void> WorkerProcess::write_messages(std::weak_ptr<WorkerProcess> weak) {
  for (;;) {
    WorkerProcess* const worker = weak.lock().get();
    if (worker == nullptr) co_return;
    if (worker->frames_.empty() || worker->ended_) {
      worker->writing_ = false;
      co_return;
    }
    const std::string frame = std::move(worker->frames_.front());
    worker->frames_.pop_front();
    boost::system::error_code failed;  // it is going: await_end() tells
    co_await asio::async_write(worker->socket_, asio::buffer(frame), asio::redirect_error(asio::use_awaitable, failed));
  }
}

template <class Stream>
Task<void> WorkerProcess::read(std::weak_ptr<WorkerProcess> weak, Stream WorkerProcess::* stream,
                               void (WorkerProcess::*take)(std::string_view)) {
  std::vector<char> piece(kPiece);
  for (;;) {
    WorkerProcess* const worker = weak.lock().get();
    if (worker == nullptr || worker->ended_) co_return;
    boost::system::error_code failed;
    const std::size_t size =
        co_await (worker->*stream)
            .async_read_some(asio::buffer(piece), asio::redirect_error(asio::use_awaitable, failed));
    const auto self = weak.lock();
    if (!self || failed || self->ended_) co_return;
    ((*self).*take)({piece.data(), size});
  }
}

void WorkerProcess::take_messages(std::string_view bytes) {
  if (!broken_.empty()) return;
  reader_.append(bytes);
  for (;;) {
    wire::Report report;
    const auto read = reader_.next(report);
    if (!read) {
      broken_ = read.error().message;
      return kill();
    }
    if (!*read) return;
    events_.report(report);
  }
}

void WorkerProcess::take_output(std::string_view bytes) {
  for (const char byte : bytes) {
    if (byte != '\n' && line_.size() < kMaxLine) {
      line_ += byte;
      continue;
    }
    if (!line_.empty()) events_.printed(std::exchange(line_, {}));
    if (byte != '\n') line_ += byte;
  }
}

Task<void> WorkerProcess::await_end(std::weak_ptr<WorkerProcess> weak) {
  WorkerProcess* const worker = weak.lock().get();
  if (worker == nullptr) co_return;
  boost::system::error_code failed;
  co_await worker->end_.async_wait(asio::posix::stream_descriptor::wait_read,
                                   asio::redirect_error(asio::use_awaitable, failed));
  if (const auto self = weak.lock(); self && !failed) self->end();
}

// What it said last, and no end is waited for: a process that it forked may hold the stream open, and never be silent.
template <class Stream>
void WorkerProcess::take_last(Stream& stream, void (WorkerProcess::*take)(std::string_view)) {
  std::vector<char> piece(kPiece);
  for (int i = 0; i < kLastPieces; ++i) {
    boost::system::error_code empty;
    const std::size_t size = stream.read_some(asio::buffer(piece), empty);
    if (size == 0) return;
    (this->*take)({piece.data(), size});
  }
}

void WorkerProcess::end() {
  child_->kill();
  take_last(socket_, &WorkerProcess::take_messages);
  take_last(output_, &WorkerProcess::take_output);
  if (!line_.empty()) events_.printed(std::exchange(line_, {}));
  child_->is_gone();
  std::string how = child_->end();
  ended_ = true;
  boost::system::error_code ignored;
  socket_.close(ignored);
  output_.close(ignored);
  if (!broken_.empty()) how = fmt::format("sent what is no message ({}) and {}", broken_, how);
  events_.ended(how);
}

}  // namespace cardcage
