#include "ctl/web/change_hub.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "ctl/web/watch_call.h"

namespace cardcage {
namespace {

// Pause before another attempt. Nothing reports that the daemon is back.
constexpr Duration kWatchRetry = std::chrono::seconds(1);
// A daemon that has not sent its first event by then hangs.
constexpr Duration kFirstEvent = std::chrono::seconds(2);

// In the order of the counters in counts_of().
constexpr std::array<const char*, 7> kSectionNames{"status",  "modules", "devices",      "claims",
                                                   "history", "health",  "configuration"};

std::array<std::uint32_t, 7> counts_of(const admin::v1::WatchEvent& event) {
  return {event.status(),  event.modules(), event.devices(),      event.claims(),
          event.history(), event.health(),  event.configuration()};
}

}  // namespace

std::optional<WebEvent> ChangeHub::Reader::take() {
  if (told_connected_ != hub_.connected_) {
    told_connected_ = hub_.connected_;
    if (told_connected_) changed_.fill(true);
    return WebEvent{told_connected_ ? "back" : "gone", "{}"};
  }
  if (std::ranges::count(changed_, true) == 0) return std::nullopt;
  boost::json::array names;
  for (std::size_t i = 0; i < kSections; ++i)
    if (changed_[i]) names.emplace_back(kSectionNames[i]);
  changed_.fill(false);
  return WebEvent{"change", boost::json::serialize(boost::json::object{{"sections", std::move(names)}})};
}

ChangeHub::ChangeHub(asio::io_context& core, Clock& clock, const DaemonClient& client)
    : core_(core), clock_(clock), client_(client), settling_(core, Instant::max()), wake_(core), tasks_(core) {
  tasks_.spawn(run());
}

ChangeHub::~ChangeHub() = default;

Task<std::unique_ptr<ChangeHub::Reader>> ChangeHub::open() {
  auto reader = std::make_unique<Reader>(*this);
  readers_.insert(reader.get());
  wake_.wake();
  boost::system::error_code ignored;
  if (!settled_ && !stopping_) co_await settling_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  co_return reader;
}

void ChangeHub::detach(Reader* reader) {
  readers_.erase(reader);
  wake_.wake();
}

Task<void> ChangeHub::stop() {
  stopping_ = true;
  settling_.cancel();
  wake_.wake();
  co_await tasks_.join(clock_, Instant::max());
}

Task<void> ChangeHub::run() {
  while (!stopping_) {
    if (readers_.empty()) {
      settled_ = false;
      connected_ = true;
      co_await wake_.wait();
      continue;
    }
    co_await watch();
    counts_.reset();
    if (stopping_ || readers_.empty()) continue;
    settle(false);
    co_await wake_.wait_for(clock_, kWatchRetry);
  }
}

// Returns when the stream has ended: because of the daemon, or because no page is open any more.
Task<void> ChangeHub::watch() {
  auto connection = client_.connect();
  if (!connection) co_return;
  const auto call = WatchCall::begin(core_, *std::move(connection), [this] { wake_.wake(); });
  const Instant late = clock_.now() + kFirstEvent;
  while (!call->ended()) {
    if (stopping_ || readers_.empty()) call->cancel();
    if (const auto event = call->take()) pass_on(counts_of(*event));
    if (!counts_ && clock_.now() >= late) settle(false);
    co_await wake_.wait_until(clock_, counts_ || !connected_ ? Instant::max() : late);
  }
}

void ChangeHub::settle(bool connected) {
  const bool changed = connected_ != connected;
  connected_ = connected;
  settled_ = true;
  settling_.cancel();
  if (!changed) return;
  for (const Reader* reader : readers_) reader->wake();
}

void ChangeHub::pass_on(const Counts& counts) {
  const bool first = !counts_;
  const Counts before = std::exchange(counts_, counts).value_or(counts);
  if (first) settle(true);
  for (Reader* reader : readers_) {
    for (std::size_t i = 0; i < kSections; ++i)
      if (counts[i] != before[i]) reader->changed_[i] = true;
    reader->wake();
  }
}

}  // namespace cardcage
