#include "host/events/event_sources.h"

#include <algorithm>

#include "host/core/log.h"

namespace cardcage {
namespace {

// A device node may appear, or descriptors may be free again, without a notification.
constexpr Duration kRetryInterval = std::chrono::seconds(30);

}  // namespace

EventSources::EventSources(asio::io_context& core, Clock& clock, std::filesystem::path kernel_log)
    : core_(core), clock_(clock), kernel_log_(std::move(kernel_log)), retry_(core, clock) {}

std::unique_ptr<EventSources::Subscription> EventSources::subscribe(Listener listener) {
  listeners_.push_back(std::move(listener));
  const auto added = std::prev(listeners_.end());
  update();
  return std::make_unique<Subscription>(*this, added);
}

void EventSources::remove(std::list<Listener>::iterator listener) {
  listeners_.erase(listener);
  update();
}

void EventSources::update() {
  const auto wants = [this](auto member) {
    return std::ranges::any_of(listeners_, [member](const Listener& one) { return static_cast<bool>(one.*member); });
  };
  update(messages_, wants(&Listener::kernel_message), [this] {
    return watch_kernel_log(core_, clock_, kernel_log_,
                            {.heard =
                                 [this](const KernelMessage& message) {
                                   for (const Listener& one : listeners_)
                                     if (one.kernel_message) one.kernel_message(message);
                                 },
                             .lost = [this] { tell_lost(messages_); },
                             .failed = [this](const Error& error) { fail(messages_, error); }});
  });
  update(uevents_, wants(&Listener::uevent), [this] {
    return watch_uevents(core_, clock_,
                         {.heard =
                              [this](const Uevent& event) {
                                for (const Listener& one : listeners_)
                                  if (one.uevent) one.uevent(event);
                              },
                          .lost = [this] { tell_lost(uevents_); },
                          .failed = [this](const Error& error) { fail(uevents_, error); }});
  });
}

void EventSources::update(Source& source, bool wanted,
                          const std::function<Result<std::unique_ptr<RecordReader>>()>& open) {
  if (!wanted) {
    source.reader.reset();
    source.problem.clear();
    return;
  }
  if (source.reader) return;
  auto reader = open();
  if (!reader) return fail(source, reader.error());
  source.reader = std::move(*reader);
  if (!std::exchange(source.problem, {}).empty()) tell_lost(source);
}

void EventSources::fail(Source& source, const Error& error) {
  source.reader.reset();
  const std::string problem = fmt::format("modules do not hear of {}: {}", source.name, error.message);
  // Logged once: `cagectl status` warns as long as the problem lasts.
  if (std::exchange(source.problem, problem) != problem) log_limited(LogLevel::kWarn, source.name, problem);
  retry_.call_after(kRetryInterval, [this] { update(); });
}

void EventSources::tell_lost(const Source& source) {
  for (const Listener& one : listeners_) {
    const bool listens = &source == &messages_ ? static_cast<bool>(one.kernel_message) : static_cast<bool>(one.uevent);
    if (listens && one.lost) one.lost();
  }
}

std::vector<std::string> EventSources::problems() const {
  std::vector<std::string> problems;
  for (const Source* source : {&messages_, &uevents_})
    if (!source->problem.empty()) problems.push_back(source->problem);
  return problems;
}

}  // namespace cardcage
