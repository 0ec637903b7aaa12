// The streams of Admin.Watch.
#pragma once

#include <string>

#include "cardcage/admin.pb.h"
#include "host/core/paced_call.h"
#include "host/rpc/latest_stream.h"
#include "host/view/daemon_view.h"

namespace cardcage {

// [core] Each stream gets the counters at once, and again at most every kPace after a change. Without a stream nothing
// is watched.
class ChangeStreams {
 public:
  static constexpr Duration kPace = std::chrono::milliseconds(100);

  // The view and the clock outlive the streams.
  ChangeStreams(asio::io_context& core, Clock& clock, DaemonView& view);

  // [any-thread]
  grpc::ServerWriteReactor<admin::v1::WatchEvent>* open();
  // Ends the open streams and refuses new ones.
  void shut();

 private:
  using Stream = LatestStream<admin::v1::WatchEvent>;
  class Reactor;
  void begin(Stream& stream);
  void closed();
  void publish();
  void compare_all();
  void compare_later();

  DaemonView& view_;
  OpenStreams<Stream> streams_;
  PacedCall publish_;
  DelayedCall next_comparison_;
  std::string status_, config_, modules_;  // as last seen by compare_all()
};

}  // namespace cardcage
