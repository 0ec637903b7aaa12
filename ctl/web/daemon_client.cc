#include "ctl/web/daemon_client.h"

namespace cardcage {

Result<std::shared_ptr<const AdminConnection>> DaemonClient::connect() const {
  if (!calls_) return fail(Code::kCancelled, "the server of the page is stopping");
  auto opened = AdminConnection::open(socket_, std::chrono::milliseconds(0));
  if (!opened) return std::unexpected(opened.error());
  return std::make_shared<const AdminConnection>(*std::move(opened));
}

}  // namespace cardcage
