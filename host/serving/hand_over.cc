#include "host/serving/hand_over.h"

#include <fcntl.h>
#include <sys/file.h>

#include "host/core/file.h"
#include "host/core/log.h"
#include "host/core/wakeup.h"

namespace cardcage {
namespace {

constexpr std::string_view kRegister = "register\n", kRegistered = "registered\n";
constexpr std::size_t kMaxWord = 64;
constexpr Duration kPoll = std::chrono::milliseconds(20);
// The kubelet registers a driver before it has connected to it, and until then calls the previous instance.
constexpr Duration kConnect = std::chrono::milliseconds(250);

UniqueFd open_file(const std::filesystem::path& file, int flags) {
  return UniqueFd(::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
}

bool lock(const UniqueFd& file) { return ::flock(file.get(), LOCK_EX | LOCK_NB) == 0; }

}  // namespace

std::string HandOver::said() const { return read_file(file_, kMaxWord).value_or(""); }

void HandOver::say(const UniqueFd& file, std::string_view word) const {
  const bool written = ::ftruncate(file.get(), 0) == 0 &&
                       ::pwrite(file.get(), word.data(), word.size(), 0) == static_cast<ssize_t>(word.size());
  if (!written)
    log(LogLevel::kWarn, "the drivers are not handed over: pods that start now may wait for a minute",
        {{"file", file_.native()}});
}

void HandOver::wait() {
  UniqueFd file = open_file(file_, O_CREAT);
  if (!file || !lock(file)) return;
  lock_ = std::move(file);
  say(lock_, "");
}

bool HandOver::asked() const { return lock_ && said() == kRegister; }

void HandOver::say_registered() { say(lock_, kRegistered); }

void HandOver::end() { lock_ = UniqueFd(); }

Task<void> HandOver::give(asio::io_context& core, Clock& clock, Instant deadline) {
  const UniqueFd file = open_file(file_, 0);
  if (!file || lock(file)) co_return;
  log(LogLevel::kInfo, "the next daemon registers the drivers");
  say(file, kRegister);
  Wakeup never(core);
  while (clock.now() < deadline && said() != kRegistered && !lock(file)) co_await never.wait_for(clock, kPoll);
  if (said() == kRegistered) co_await never.wait_for(clock, kConnect);
}

}  // namespace cardcage
