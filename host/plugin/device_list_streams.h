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

// The kubelet writes its checkpoint to disk for every message of every resource. Slightly more than 100 ms, so that a
// second of changes is ten messages with the last one.
constexpr std::chrono::milliseconds kListPace{120};

// The complete list at once, even if it is empty: a kubelet that has seen none does not know the resource. Then every
// change, not sooner than kListPace after the one before; a change after a pause goes out at once. What was sent last
// is not sent again. All streams get the same: kubelets have two for a moment when a resource is registered anew.
class DeviceListStreams {
 public:
  // `board` outlives the streams. `changed` is called on the core after a stream was opened or has ended by itself.
  DeviceListStreams(asio::io_context& core, Clock& clock, std::string resource, DeviceListBoard& board,
                    std::function<void()> changed);

  // [any-thread] One more stream.
  grpc::ServerWriteReactor<api::device_plugin::ListAndWatchResponse>* open();
  // [core] Sends what was held back until close() ends all streams and refuses others.
  Task<void> run();
  void close();
  // Sends the list once more though nothing has changed.
  void resend();
  // Ends those that are open: the kubelet lets go of the resource until it is registered again.
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
  std::shared_ptr<const Message> message_;  // of published_
  std::size_t listed_ = 0, left_out_ = 0;
  std::uint64_t opened_ = 0;
  Instant next_ = Instant::min();  // not sooner
  Wakeup wake_;
};

}  // namespace cardcage
