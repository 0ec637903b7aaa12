#include "host/instance/call_context.h"

#include <sys/eventfd.h>

#include "host/sinks/borrowed.h"
#include "host/sinks/lent.h"

namespace cardcage {

CallContext::CallContext(std::string what, std::uint64_t number, Instant deadline, std::uint32_t attempt)
    : what_(std::move(what)),
      id_(fmt::format("{}-{}", what_, number)),
      number_(number),
      deadline_(deadline),
      cancel_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      table_{} {
  table_.struct_size = sizeof table_;
  table_.attempt = attempt;
  table_.host_data = this;
  table_.id = lent(id_);
  if (deadline != Instant::max())
    table_.deadline_ns = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch()).count());
  table_.cancel_fd = cancel_fd_.get();  // -1 if no descriptor is left: the module cannot poll then
  table_.cancelled = [](const cage_call* table) -> std::int32_t { return of(table).is_cancelled() ? 1 : 0; };
  table_.explain = [](const cage_call* table, cage_str text) {
    auto& self = of(table);
    if (text.data == nullptr) return;
    // Reads only as much of the text as it keeps.
    const std::string_view start(text.data, std::min(text.size, kMaxExplanation + 4));
    const std::lock_guard lock(self.mutex_);
    self.explanation_ = printable_lines(start, kMaxExplanation);
  };
  table_.explained = [](const cage_call* table) -> cage_str {
    const auto& self = of(table);
    const std::lock_guard lock(self.mutex_);
    return lent(self.explanation_);
  };
  table_.progress = [](const cage_call* table, std::uint32_t percent, cage_str text) {
    of(table).note_progress(percent, text);
  };
}

void CallContext::note_progress(std::uint32_t percent, cage_str text) {
  Progress progress;
  if (percent <= 100) progress.percent = percent;
  if (text.data != nullptr)
    progress.text = printable({text.data, std::min(text.size, kMaxProgressText + 4)}, kMaxProgressText);
  if (told_) told_(std::move(progress));
}

void CallContext::cancel() {
  if (cancelled_.exchange(true) || !cancel_fd_) return;
  ::eventfd_write(cancel_fd_.get(), 1);
}

std::string CallContext::explanation() const {
  const std::lock_guard lock(mutex_);
  return explanation_;
}

void CallContext::forget_explanation() {
  const std::lock_guard lock(mutex_);
  explanation_.clear();
}

bool CallContext::begin() {
  Phase queued = Phase::kQueued;
  return phase_.compare_exchange_strong(queued, Phase::kRunning);
}
void CallContext::end() { phase_.store(Phase::kEnded); }
bool CallContext::abandon() {
  Phase queued = Phase::kQueued;
  return phase_.compare_exchange_strong(queued, Phase::kAbandoned) || queued == Phase::kAbandoned;
}

}  // namespace cardcage
