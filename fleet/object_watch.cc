#include "fleet/object_watch.h"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "host/apiserver/api_parts.h"
#include "host/apiserver/percent_encode.h"
#include "host/apiserver/watch_event.h"
#include "host/core/cancellation.h"
#include "host/core/log.h"
#include "host/core/timestamp.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxPage = std::size_t{4} << 20;  // parsed, it takes several times as much
constexpr std::size_t kMaxWatchBacklog = std::size_t{4} << 20;
constexpr std::chrono::seconds kWatchGrace{15};
// A shorter watch counts as failed, so that a server that ends watches at once is not called in a tight loop.
constexpr std::chrono::seconds kLeastWatch{1};

bool is_too_large(const Error& error) { return error.code == Code::kInternal; }

}  // namespace

ObjectWatch::ObjectWatch(asio::io_context& core, Clock& clock, ApiSession& session, WatchedKind kind, ObjectSink& sink,
                         WatchPace pace, std::function<void()> state_changed)
    : clock_(clock),
      session_(session),
      kind_(std::move(kind)),
      sink_(sink),
      pace_(pace),
      state_changed_(std::move(state_changed)),
      timer_(core),
      retry_(pace.first_pause, pace.longest_pause, static_cast<std::uint32_t>(random_())) {}

Task<void> ObjectWatch::run() {
  while (true) {
    const Status done = co_await step();
    const bool ended = co_await cancelled();
    if (ended) co_return;
    if (done) {
      retry_.reset();
      continue;
    }
    const Duration pause = pause_after(done.error());
    if (pause > Duration::zero()) co_await clock_.sleep_for(pause);
  }
}

Task<Status> ObjectWatch::step() {
  if (resource_version_.empty()) co_return co_await list();
  co_return co_await watch();
}

// Learns from the error what to do next, and returns the pause before it.
Duration ObjectWatch::pause_after(const Error& error) {
  if (error.code == Code::kUnimplemented || error.code == Code::kNotFound) {
    resource_version_.clear();
    version_ = (version_ + 1) % kind_.paths.size();
    if (version_ != 0) return Duration::zero();
    if (kind_.optional) {
      set_connected();
      set_listed();
      return pace_.retry_unserved;
    }
  }
  if (error.code == Code::kOutOfRange) {
    log(LogLevel::kInfo, "the API server forgot the last event; reading all objects again", {{"kind", kind_.what}});
    resource_version_.clear();
    return retry_.next();
  }
  set_lost(error);
  log_limited(LogLevel::kWarn, kind_.what, "lost the API server; still serving what was read before",
              {{"kind", kind_.what}, {"error", error.message}});
  return retry_.next();
}

std::string ObjectWatch::path_in(std::string_view name_space) const {
  const std::size_t resource = path().rfind('/');
  return fmt::format("{}/namespaces/{}{}", path().substr(0, resource), name_space, path().substr(resource));
}

std::optional<std::string> ObjectWatch::warning() const {
  if (state_.connected) return std::nullopt;
  if (state_.listed) return fmt::format("{} are as of {}: {}", kind_.what, timestamp(state_.last_news), state_.error);
  return fmt::format("{} have not been read yet{}{}", kind_.what, state_.error.empty() ? "" : ": ", state_.error);
}

void ObjectWatch::set_connected() {
  state_.last_news = clock_.wall();
  if (state_.connected) return;
  state_.connected = true;
  state_.error.clear();
  state_changed_();
}

void ObjectWatch::set_lost(const Error& error) {
  const bool was_connected = std::exchange(state_.connected, false);
  state_.error = error.message;
  if (was_connected) state_changed_();
}

void ObjectWatch::set_listed() {
  if (std::exchange(state_.listed, true)) return;
  state_changed_();
}

Task<Result<std::string>> ObjectWatch::list_page(std::string next, int size, std::unordered_set<std::string>& keys) {
  std::string query = fmt::format("{}?limit={}", path(), size);
  if (!kind_.selector.empty()) query += "&" + kind_.selector;
  if (!next.empty()) query += "&continue=" + percent_encode(next);
  ApiCall call{.what = "list " + kind_.what, .request = {.path = std::move(query), .max_body = kMaxPage}};
  const auto body = co_await session_.call(std::move(call), clock_.now() + pace_.page_limit);
  const auto page = parse_response(body);
  if (!page) co_return std::unexpected(page.error());
  const auto items = items_of(as_object(*page));
  if (!items) co_return within(items.error(), "list {}", kind_.what);
  for (const json::value& item : **items) {
    keys.insert(sink_.key(as_object(item)));
    sink_.put(as_object(item));
  }
  const json::object& metadata = object_at(as_object(*page), "metadata");
  if (text_at(metadata, "continue").empty()) resource_version_ = text_at(metadata, "resourceVersion");
  co_return std::string(text_at(metadata, "continue"));
}

Task<Status> ObjectWatch::list() {
  std::unordered_set<std::string> keys;
  std::string next;
  for (int size = kind_.page;;) {
    auto after = co_await list_page(next, size, keys);
    if (!after && is_too_large(after.error()) && size > 1) {
      size = std::max(1, size / 4);
      continue;
    }
    if (!after) co_return std::unexpected(std::move(after.error()));
    set_connected();
    if (after->empty()) break;
    next = std::move(*after);
  }
  if (resource_version_.empty())
    co_return fail(Code::kUnavailable, "list {}: the API server sent no resourceVersion", kind_.what);
  sink_.keep(keys);
  set_listed();
  co_return Status{};
}

// Returns when the watch has been silent for too long. Meanwhile notes that it has connected, which the API server does
// not report before the first event.
Task<void> ObjectWatch::wait_for_silence() {
  while (true) {
    const Instant settled = watch_began_ + pace_.settled, silent = last_line_ + pace_.silence;
    const Instant now = clock_.now();
    if (now >= silent) co_return;
    if (now >= settled) set_connected();
    co_await clock_.wait(timer_, now < settled ? std::min(settled, silent) : silent);
    const bool ended = co_await cancelled();
    if (ended) co_return;
  }
}

Task<Status> ObjectWatch::watch() {
  using namespace asio::experimental::awaitable_operators;
  const std::chrono::seconds time(
      std::uniform_int_distribution(pace_.least_time.count(), pace_.most_time.count())(random_));
  std::string target = fmt::format("{}?watch=1&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={}", path(),
                                   time.count(), percent_encode(resource_version_));
  if (!kind_.selector.empty()) target += "&" + kind_.selector;
  ApiCall call{.what = "watch " + kind_.what, .request = {.path = std::move(target), .max_body = kMaxWatchBacklog}};
  watch_began_ = last_line_ = clock_.now();
  std::function<Status(std::string_view)> take = [this](std::string_view line) -> Status {
    last_line_ = clock_.now();
    const Status taken = deliver_watched_object(
        line, resource_version_,
        [this](bool deleted, const json::object& object) { deleted ? sink_.remove(object) : sink_.put(object); });
    if (taken) set_connected();
    return taken;
  };
  auto stream = session_.stream(std::move(call), time + kWatchGrace, std::move(take));
  auto silence = wait_for_silence();
  const auto first = co_await (std::move(stream) || std::move(silence));
  if (first.index() == 1)
    co_return fail(Code::kUnavailable, "watch {}: the API server was silent for too long", kind_.what);
  const Status& ended = std::get<0>(first);
  if (ended && clock_.now() - watch_began_ < kLeastWatch)
    co_return fail(Code::kUnavailable, "watch {}: the API server ended it at once", kind_.what);
  co_return ended;
}

}  // namespace cardcage
