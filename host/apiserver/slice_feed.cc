#include "host/apiserver/slice_feed.h"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <algorithm>
#include <utility>

#include "host/apiserver/slice_json.h"
#include "host/apiserver/watch_event.h"
#include "host/core/cancellation.h"
#include "host/core/log.h"
#include "host/core/random_duration.h"
#include "host/model/resource_version.h"
#include "host/model/retry_pace.h"

namespace cardcage {

using namespace asio::experimental::awaitable_operators;

// Keeps a follower in the list while its coroutine runs, and hands the watch over when it ends.
class SliceFeed::Membership {
 public:
  template <class... Args>
  explicit Membership(std::shared_ptr<SliceFeed> feed, Args&&... args)
      : feed_(std::move(feed)),
        entry_(feed_->followers_.emplace(feed_->followers_.end(), std::forward<Args>(args)...)) {}
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;
  ~Membership() {
    const bool led = feed_->leader_ == &*entry_;
    feed_->followers_.erase(entry_);
    if (!led) return;
    feed_->leader_ = nullptr;
    feed_->watching_ = false;
    for (Follower& follower : feed_->followers_) follower.wakeup.wake();
  }
  Follower& operator*() { return *entry_; }

 private:
  const std::shared_ptr<SliceFeed> feed_;
  const std::list<Follower>::iterator entry_;
};

SliceFeed::SliceFeed(asio::io_context& core, Clock& clock, Watch watch)
    : core_(core), clock_(clock), watch_(std::move(watch)), restart_(core) {}

Task<Status> SliceFeed::follow(std::string driver, std::string& version, std::function<void(SliceEvent)> on_event) {
  Membership membership(shared_from_this(), core_, std::move(driver), version, std::move(on_event));
  Follower& self = *membership;
  note(self.version);
  self.behind = watching_ && has_passed(self);
  if (self.behind) restart_.wake();
  while (!self.end) {
    std::optional<Status> ended;
    if (leader_ == nullptr || leader_ == &self) {
      leader_ = &self;
      ended = co_await lead(self);
    } else {
      co_await self.wakeup.wait();
    }
    if (is_cancelled(co_await asio::this_coro::cancellation_state))
      co_return fail(Code::kCancelled, "the watch was cancelled");
    if (ended) end_all(*ended);
  }
  co_return *self.end;
}

// Returns how the watch ended, or nothing if it must start again.
Task<std::optional<Status>> SliceFeed::lead(const Follower& leader) {
  while (clock_.now() < not_before_) {
    co_await restart_.wait_until(clock_, not_before_);
    if (leader.end || is_cancelled(co_await asio::this_coro::cancellation_state)) co_return std::nullopt;
  }
  start_ = version_ = oldest_version();
  newest_.clear();
  for (Follower& follower : followers_) follower.behind = false;
  watching_ = true;
  std::function<Status(std::string_view)> on_line = [this](std::string_view line) { return take_line(line); };
  auto ended = co_await (watch_(start_, std::move(on_line)) || restart_.wait());
  watching_ = false;
  if (ended.index() == 1) co_return std::nullopt;
  co_return std::get<0>(ended);
}

Status SliceFeed::take_line(std::string_view line) {
  const auto deliver = [this](bool deleted, const json::object& object) {
    const auto slice = slice_from_json(object);
    if (!slice)
      return log_limited(LogLevel::kWarn, "slice-event", "ignoring a ResourceSlice that cannot be read",
                         {{"error", slice.error().message}});
    newest_[slice->driver] = slice->resource_version;
    for (const Follower& follower : followers_)
      if (!follower.behind && follower.driver == slice->driver && !is_known(slice->resource_version, follower.version))
        follower.on_event({deleted, *slice});
  };
  if (auto taken = deliver_watched_object(line, version_, deliver); !taken) return taken;
  note(version_);
  for (Follower& follower : followers_)
    if (!follower.behind && !is_known(version_, follower.version)) follower.version = version_;
  return {};
}

// Returns whether the running watch may have had events that the follower lacks.
bool SliceFeed::has_passed(const Follower& follower) const {
  if (!is_known(start_, follower.version)) return true;
  const auto newest = newest_.find(follower.driver);
  return newest != newest_.end() && !is_known(newest->second, follower.version);
}

std::string SliceFeed::oldest_version() const {
  const auto oldest = std::ranges::min_element(followers_, [](const Follower& a, const Follower& b) {
    return a.version != b.version && is_known(a.version, b.version);
  });
  return oldest->version;
}

void SliceFeed::note(const std::string& version) {
  if (is_known(newest_version_, version)) newest_version_ = version;
}

void SliceFeed::end(const Status& how) {
  newest_version_ = "0";
  end_followers(how);
  if (leader_ != nullptr) restart_.wake();
}

void SliceFeed::end_followers(const Status& how) {
  for (Follower& follower : followers_) {
    follower.end = how;
    follower.wakeup.wake();
  }
}

// The next watch of each follower is a new one.
void SliceFeed::end_all(const Status& how) {
  leader_ = nullptr;
  if (!how && how.error().code == Code::kUnavailable)
    not_before_ = clock_.now() + random_duration(Duration::zero(), kSpreadOfLists, random_);
  end_followers(how);
}

}  // namespace cardcage
