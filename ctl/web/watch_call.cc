#include "ctl/web/watch_call.h"

namespace cardcage {

std::shared_ptr<WatchCall> WatchCall::begin(asio::io_context& core, std::shared_ptr<const AdminConnection> connection,
                                            std::function<void()> news) {
  const std::shared_ptr<WatchCall> call(new WatchCall(core, std::move(connection), std::move(news)));
  call->self_ = call;
  call->connection_->stub().async()->Watch(&call->context_, &call->request_, call.get());
  call->StartRead(&call->read_);
  call->StartCall();
  return call;
}

void WatchCall::OnReadDone(bool ok) {
  if (!ok) return;
  asio::post(core_, [self = self_, event = read_] {
    self->latest_ = event;
    self->news_();
  });
  StartRead(&read_);
}

void WatchCall::OnDone(const grpc::Status&) {
  asio::post(core_, [self = std::move(self_)] {
    self->ended_ = true;
    self->news_();
  });
}

}  // namespace cardcage
