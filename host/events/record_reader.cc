#include "host/events/record_reader.h"

#include <boost/asio/posix/stream_descriptor.hpp>

#include "host/core/wakeup.h"

namespace cardcage {
namespace {

// About 12,000 records per second.
constexpr int kRecordsPerTurn = 128;
constexpr Duration kPause = std::chrono::milliseconds(10);

}  // namespace

struct RecordReader::Feed {
  Feed(asio::io_context& core, Clock& time, UniqueFd descriptor, Listener heard)
      : clock(time), stream(core, descriptor.release()), listener(std::move(heard)), changed(core) {}
  Clock& clock;
  asio::posix::stream_descriptor stream;
  Listener listener;
  Wakeup changed;
  bool ended = false;
};

RecordReader::RecordReader(asio::io_context& core, Clock& clock, UniqueFd descriptor, Listener listener)
    : feed_(std::make_shared<Feed>(core, clock, std::move(descriptor), std::move(listener))) {
  spawn(core, run(feed_));
}

RecordReader::~RecordReader() {
  feed_->ended = true;
  boost::system::error_code ignored;
  feed_->stream.close(ignored);
  feed_->changed.wake();
}

Task<void> RecordReader::run(std::shared_ptr<Feed> feed) {
  while (!feed->ended) {
    boost::system::error_code ignored;
    co_await feed->stream.async_wait(asio::posix::stream_descriptor::wait_read,
                                     asio::redirect_error(asio::use_awaitable, ignored));
    if (feed->ended) co_return;
    const bool more = read_some(feed);
    if (feed->ended) co_return;
    if (more) co_await feed->changed.wait_for(feed->clock, kPause);
  }
}

// True if there may be more. A callback may end the feed.
bool RecordReader::read_some(const std::shared_ptr<Feed>& feed) {
  for (int i = 0; i < kRecordsPerTurn && !feed->ended; ++i) {
    const Result<Outcome> outcome = feed->listener.read(feed->stream.native_handle());
    if (!outcome) {
      feed->ended = true;
      feed->listener.failed(outcome.error());
      return false;
    }
    if (*outcome == Outcome::kNothing) return false;
    if (*outcome == Outcome::kLost) feed->listener.lost();
  }
  return true;
}

}  // namespace cardcage
