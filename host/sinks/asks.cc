#include "host/sinks/asks.h"

namespace cardcage {

Result<AskReply> Asks::ask(std::uint64_t call, ModuleAsk ask) {
  const std::string_view what = name_of(ask);
  std::unique_lock lock(mutex_);
  const std::uint64_t number = ++last_;
  open_[number];
  lock.unlock();
  channel_.send(number, call, std::move(ask));
  const auto is_over = [&] { return closed_ || open_.at(number).has_value(); };
  if (channel_.attend)
    channel_.attend([&] {
      const std::lock_guard looking(mutex_);
      return is_over();
    });
  lock.lock();
  changed_.wait(lock, is_over);
  auto answer = open_.extract(number).mapped();
  if (!answer) return fail(Code::kCancelled, "the host cannot {}: no caller waits for this call any more", what);
  return std::move(*answer);
}

void Asks::answer(std::uint64_t number, Result<AskReply> answer) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(number);
    if (found == open_.end()) return;
    found->second = std::move(answer);
  }
  changed_.notify_all();
}

void Asks::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

}  // namespace cardcage
