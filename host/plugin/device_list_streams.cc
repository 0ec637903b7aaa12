#include "host/plugin/device_list_streams.h"

#include "host/core/log.h"
#include "host/plugin/device_list_message.h"

namespace cardcage {

class DeviceListStreams::Reactor final : public StreamReactor<Stream, Message> {
 public:
  explicit Reactor(OpenStreams<Stream>& streams) : StreamReactor(streams) {}

 private:
  std::size_t send(const Message& message, std::size_t) override {
    StartWrite(&message);
    return 0;
  }
};

DeviceListStreams::DeviceListStreams(asio::io_context& core, Clock& clock, std::string resource, DeviceListBoard& board,
                                     std::function<void()> changed)
    : clock_(clock),
      resource_(std::move(resource)),
      board_(board),
      changed_(std::move(changed)),
      streams_(
          core, [this](Stream& stream) { begin(stream); }, [this] { changed_(); }),
      wake_(core) {
  subscription_ = board_.subscribe([this](const DeviceListPtr&) { publish_if_due(); });
  publish();
}

grpc::ServerWriteReactor<DeviceListStreams::Message>* DeviceListStreams::open() {
  return Reactor::open<Reactor>(streams_);
}

void DeviceListStreams::begin(Stream& stream) {
  ++opened_;
  stream.offer(message_);
  changed_();
}

void DeviceListStreams::publish() {
  const DeviceListPtr& now = board_.current();
  if (published_ && *published_ == *now) return;  // a change was undone
  auto made = device_list_message(*now);
  published_ = now;
  left_out_ = made.left_out;
  listed_ = now->size() - left_out_;
  message_ = std::make_shared<const Message>(std::move(made.message));
  next_ = clock_.now() + kListPace;
  if (left_out_ != 0)
    log_limited(
        LogLevel::kError, "list " + resource_,
        "the kubelet reads 4 MiB of devices and this resource has more: serve fewer devices, or serve them with DRA",
        {{"resource", resource_}, {"listed", listed_}, {"left_out", left_out_}});
  streams_.offer(message_);
}

void DeviceListStreams::publish_if_due() {
  if (clock_.now() >= next_) return publish();
  wake_.wake();
}

Task<void> DeviceListStreams::run() {
  while (!streams_.is_shut()) {
    if (published_ == board_.current() || clock_.now() >= next_) {
      publish();
      co_await wake_.wait();
    } else {
      co_await wake_.wait_until(clock_, next_);
    }
  }
}

void DeviceListStreams::close() {
  streams_.shut();
  wake_.wake();
}

void DeviceListStreams::resend() {
  published_.reset();
  publish_if_due();
}

void DeviceListStreams::end() { streams_.end({grpc::StatusCode::UNAVAILABLE, "the resource is registered again"}); }

}  // namespace cardcage
