#include "host/kubelet/health_stream.h"

#include <algorithm>

#include "host/core/utf8.h"

namespace cardcage {
namespace {

// The kubelet keeps so many bytes and would cut inside a character.
constexpr std::size_t kMaxMessage = 1024;
// Keeps a message below the 4 MiB that the kubelet receives. It takes every message as a partial update.
constexpr std::size_t kMaxDevicesPerWrite = 1000;

grpc::Status going_away() { return {grpc::StatusCode::UNAVAILABLE, "cardcage is shutting down"}; }

struct V1 {
  using Service = api::health_v1::DRAResourceHealth::CallbackService;
  using Request = api::health_v1::NodeWatchResourcesRequest;
  using Response = api::health_v1::NodeWatchResourcesResponse;
  using HealthStatus = api::health_v1::HealthStatus;
};
struct V1Alpha1 {
  using Service = api::health_v1alpha1::DRAResourceHealth::CallbackService;
  using Request = api::health_v1alpha1::NodeWatchResourcesRequest;
  using Response = api::health_v1alpha1::NodeWatchResourcesResponse;
  using HealthStatus = api::health_v1alpha1::HealthStatus;
};

template <class Version>
void fill(typename Version::Response& response, std::span<const HealthReport> devices, std::chrono::seconds timeout) {
  response.Clear();
  for (const HealthReport& report : devices) {
    auto& out = *response.add_devices();
    out.mutable_device()->set_pool_name(report.pool);
    out.mutable_device()->set_device_name(report.device);
    out.set_health(static_cast<typename Version::HealthStatus>(report.health.state));
    out.set_last_updated_time(std::chrono::system_clock::to_time_t(report.changed));
    out.set_health_check_timeout_seconds(timeout.count());
    out.set_message(cut_utf8(report.health.message, kMaxMessage));
  }
}

}  // namespace

void HealthStream::offer(HealthListPtr list) {
  latest_ = std::move(list);
  fresh_ = true;
  advance();
}

void HealthStream::written() {
  writing_ = false;
  advance();
}

void HealthStream::finish(const grpc::Status& status) {
  if (std::exchange(ended_, true)) return;
  end(status);
}

void HealthStream::advance() {
  if (writing_ || ended_) return;
  if (rest_.empty()) {
    if (!std::exchange(fresh_, false)) return;
    sending_ = latest_;
    rest_ = *sending_;
  }
  const auto next = rest_.first(std::min(rest_.size(), kMaxDevicesPerWrite));
  rest_ = rest_.subspan(next.size());
  writing_ = true;
  send(next);
}

// The reactions come on threads of gRPC and only post. gRPC's side of the object keeps itself alive until OnDone.
template <class Version>
class HealthService::Stream final : public HealthStream,
                                    public grpc::ServerWriteReactor<typename Version::Response>,
                                    public std::enable_shared_from_this<Stream<Version>> {
 public:
  explicit Stream(HealthService& service) : service_(service) {}

  void start() {
    self_ = this->shared_from_this();
    asio::post(service_.core_, [self = self_] { self->service_.attach(self); });
  }
  void OnWriteDone(bool ok) override {
    asio::post(service_.core_, [self = self_, ok] { ok ? self->written() : self->service_.drop(self); });
  }
  void OnCancel() override {
    asio::post(service_.core_, [self = self_] { self->service_.drop(self); });
  }
  void OnDone() override { self_.reset(); }

 private:
  void send(std::span<const HealthReport> devices) override {
    fill<Version>(message_, devices, service_.timing_.timeout);
    this->StartWrite(&message_);
  }
  void end(const grpc::Status& status) override { this->Finish(status); }

  HealthService& service_;
  typename Version::Response message_;
  std::shared_ptr<Stream> self_;
};

template <class Version>
class HealthService::Service final : public Version::Service {
 public:
  explicit Service(HealthService& health) : health_(health) {}
  grpc::ServerWriteReactor<typename Version::Response>* NodeWatchResources(grpc::CallbackServerContext*,
                                                                           const typename Version::Request*) override {
    const auto stream = std::make_shared<Stream<Version>>(health_);
    stream->start();
    return stream.get();
  }

 private:
  HealthService& health_;
};

HealthService::HealthService(asio::io_context& core, Clock& clock, HealthBoard& board, HealthTiming timing)
    : core_(core),
      clock_(clock),
      board_(board),
      timing_(timing),
      services_{std::make_unique<Service<V1>>(*this), std::make_unique<Service<V1Alpha1>>(*this)},
      wake_(core) {
  subscription_ = board_.subscribe([this](const HealthListPtr& list) { offer_to_all(list); });
}

HealthService::~HealthService() = default;

std::array<grpc::Service*, 2> HealthService::services() { return {services_[0].get(), services_[1].get()}; }

void HealthService::attach(std::shared_ptr<HealthStream> stream) {
  if (closed_) return stream->finish(going_away());
  if (streams_.empty()) {
    next_beat_ = clock_.now() + timing_.heartbeat;
    wake_.wake();
  }
  streams_.insert(stream);
  stream->offer(board_.current());
}

void HealthService::drop(const std::shared_ptr<HealthStream>& stream) {
  stream->finish(grpc::Status::CANCELLED);
  streams_.erase(stream);
}

void HealthService::offer_to_all(const HealthListPtr& list) {
  for (const auto& stream : streams_) stream->offer(list);
}

Task<void> HealthService::run() {
  while (!closed_) {
    if (streams_.empty()) {
      co_await wake_.wait();
      continue;
    }
    co_await wake_.wait_until(clock_, next_beat_);
    if (clock_.now() < next_beat_) continue;
    offer_to_all(board_.current());
    next_beat_ = clock_.now() + timing_.heartbeat;
  }
}

void HealthService::close() {
  closed_ = true;
  for (const auto& stream : streams_) stream->finish(going_away());
  streams_.clear();
  wake_.wake();
}

}  // namespace cardcage
