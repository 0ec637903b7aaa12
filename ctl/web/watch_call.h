// One stream of Admin.Watch.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "ctl/admin.h"
#include "host/core/task.h"

namespace cardcage {

// Used and destroyed on the core, and gRPC's threads only post: if one of them dropped the last reference to the
// channel, the destructor of the channel would wait for that same thread.
class WatchCall final : private grpc::ClientReadReactor<admin::v1::WatchEvent> {
 public:
  // Calls `news` on the core after each event and at the end. The caller keeps what it needs until ended().
  static std::shared_ptr<WatchCall> begin(asio::io_context& core, std::shared_ptr<const AdminConnection> connection,
                                          std::function<void()> news);

  // The latest event since the last call.
  std::optional<admin::v1::WatchEvent> take() { return std::exchange(latest_, std::nullopt); }
  bool ended() const { return ended_; }
  // Ends the stream soon.
  void cancel() { context_.TryCancel(); }

 private:
  WatchCall(asio::io_context& core, std::shared_ptr<const AdminConnection> connection, std::function<void()> news)
      : core_(core), connection_(std::move(connection)), news_(std::move(news)) {}
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  asio::io_context& core_;
  const std::shared_ptr<const AdminConnection> connection_;
  const std::function<void()> news_;
  const admin::v1::WatchRequest request_;
  admin::v1::WatchEvent read_;
  std::optional<admin::v1::WatchEvent> latest_;
  bool ended_ = false;
  std::shared_ptr<WatchCall> self_;  // until OnDone
  grpc::ClientContext context_;
};

}  // namespace cardcage
