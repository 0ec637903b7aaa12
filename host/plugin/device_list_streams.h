// ListAndWatch: the devices of a resource, streamed to the kubelet.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "host/kubelet/protocol.h"
#include "host/plugin/device_list.h"
#include "host/rpc/latest_stream.h"

namespace cardcage {

// The kubelet writes its checkpoint to disk for every message of every resource, so a second has at most ten messages.
// A little more than 100 ms, because the last message of a second of changes counts, too.
constexpr std::chrono::milliseconds kListPace{120};

// A new stream gets the complete list at once, even an empty one: the kubelet does not know the resource before it gets
// a list. Changes follow at least kListPace apart; a change after a pause is sent at once. An unchanged list is not
// sent again. All streams get the same messages: a kubelet has two streams for a moment when it registers again.
class DeviceListStreams {
 public:
  // `board` outlives the streams. `changed` is called on the core after a stream was opened or the
  // kubelet has ended one.
  DeviceListStreams(asio::io_context& core, Clock& clock, std::string resource, DeviceListBoard& board,
                    std::function<void()> changed);

  // [any-thread] Opens one more stream.
  grpc::ServerWriteReactor<api::device_plugin::ListAndWatchResponse>* open();
  // [core] Sends the delayed changes, until close() ends all streams and refuses new ones.
  Task<void> run();
  void close();
  // Sends the list once more, even if it is unchanged.
  void resend();
  // Ends the open streams: the kubelet then drops the resource until it is registered again.
  void end();

  std::size_t size() const { return streams_.size(); }
  std::uint64_t opened() const { return opened_; }  // so far
  std::size_t listed() const { return listed_; }    // devices in the last message
  std::size_t left_out() const { return left_out_; }

 private:
  using Message = api::device_plugin::ListAndWatchResponse;
  using Stream = LatestStream<Message>;
  class Reactor;
  void begin(Stream& stream);
  void publish();
  void publish_if_due();

  Clock& clock_;
  const std::string resource_;
  DeviceListBoard& board_;
  const std::function<void()> changed_;
  OpenStreams<Stream> streams_;
  std::shared_ptr<const DeviceListBoard::Listener> subscription_;
  DeviceListPtr published_;
  std::shared_ptr<const Message> message_;  // message of published_
  std::size_t listed_ = 0, left_out_ = 0;
  std::uint64_t opened_ = 0;
  Instant next_ = Instant::min();  // the earliest time of the next message
  Wakeup wake_;
};

}  // namespace cardcage
