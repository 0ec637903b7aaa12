#include "host/services/service_output.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>

#include "host/core/clock.h"
#include "host/core/file.h"
#include "host/core/log.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

constexpr int kPipeSize = 1 << 20;
constexpr std::chrono::milliseconds kPause{10};  // after each piece
constexpr std::size_t kMaxOutputLine = 2048;
constexpr int kMaxOutputPieces = 4;  // pieces

}  // namespace

Result<std::shared_ptr<ServiceOutput>> ServiceOutput::open(asio::io_context& core, std::filesystem::path pipe,
                                                           ServiceKey key) {
  if (auto made = make_folder(pipe.parent_path(), 0700); !made) return std::unexpected(made.error());
  if (::mkfifo(pipe.c_str(), 0600) != 0 && errno != EEXIST)
    return fail_errno(errno, fmt::format("cannot make the pipe '{}'", pipe.native()));
  std::shared_ptr<ServiceOutput> output(new ServiceOutput(core, std::move(pipe), std::move(key)));
  // Open for writing as well, so that it has no end-of-file while the service is restarted.
  UniqueFd end(::open(output->path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  if (!end) return fail_errno(errno, fmt::format("cannot open the pipe '{}'", output->path_.native()));
  ::fcntl(end.get(), F_SETPIPE_SZ, kPipeSize);  // as far as the node allows
  boost::system::error_code failed;
  output->pipe_.assign(end.get(), failed);
  if (failed) return fail(Code::kResourceExhausted, "cannot read '{}': {}", output->path_.native(), failed.message());
  end.release();
  output->pipe_.non_blocking(true);
  spawn(core, read(output));
  return output;
}

Result<UniqueFd> ServiceOutput::end_for_service() const {
  UniqueFd end(::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!end) return fail_errno(errno, fmt::format("cannot open the pipe '{}'", path_.native()));
  return end;
}

void ServiceOutput::read_rest() {
  std::array<char, 16u << 10> piece;
  boost::system::error_code empty;
  for (int i = 0; i < kMaxOutputPieces && !empty; ++i)
    take({piece.data(), pipe_.read_some(asio::buffer(piece), empty)});
}

void ServiceOutput::close() {
  boost::system::error_code ignored;
  pipe_.close(ignored);
  pause_.cancel();
}

void ServiceOutput::remove() {
  close();
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

Task<void> ServiceOutput::read(std::shared_ptr<ServiceOutput> self) {
  std::array<char, 16u << 10> piece;
  while (self->pipe_.is_open()) {
    boost::system::error_code failed;
    const std::size_t size =
        co_await self->pipe_.async_read_some(asio::buffer(piece), asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return;
    self->take({piece.data(), size});
    self->pause_.expires_after(kPause);
    co_await self->pause_.async_wait(asio::redirect_error(asio::use_awaitable, failed));
  }
}

void ServiceOutput::take(std::string_view text) {
  lines_.add(text, [this](const std::string& line) {
    const LineBudget::Verdict verdict = budget_.take(SystemClock().now());
    if (verdict.left_out > 0)
      log_limited(LogLevel::kWarn, key_.digest() + "/lines", "service prints too much; lines are left out",
                  {{"module", key_.module}, {"service", key_.name}, {"lines", verdict.left_out}});
    if (!verdict.write) return;
    const std::string said = printable(line, kMaxOutputLine);
    last_lines_.add(said);
    log(LogLevel::kInfo, said, {{"module", key_.module}, {"service", key_.name}, {"claim", key_.claim_uid}});
  });
}

}  // namespace cardcage
