#include "host/dra/health_stream.h"

#include <algorithm>

#include "host/core/log.h"

namespace cardcage {
namespace {

// Keeps a message below the 4 MiB that the kubelet accepts. The kubelet takes every message as a partial update.
constexpr std::size_t kMaxDevicesPerWrite = 1000;

struct HealthV1 {
  using Rpc = api::health_v1::DRAResourceHealth;
  using Request = api::health_v1::NodeWatchResourcesRequest;
  using Response = api::health_v1::NodeWatchResourcesResponse;
  using HealthStatus = api::health_v1::HealthStatus;
};
struct HealthV1Alpha1 {
  using Rpc = api::health_v1alpha1::DRAResourceHealth;
  using Request = api::health_v1alpha1::NodeWatchResourcesRequest;
  using Response = api::health_v1alpha1::NodeWatchResourcesResponse;
  using HealthStatus = api::health_v1alpha1::HealthStatus;
};

// The numbers are the same in both versions.
api::health_v1::HealthStatus status_of(KubeletHealth told) {
  switch (told) {
    case KubeletHealth::kHealthy: return api::health_v1::HEALTHY;
    case KubeletHealth::kUnhealthy: return api::health_v1::UNHEALTHY;
    case KubeletHealth::kUnknown: break;
  }
  return api::health_v1::UNKNOWN;
}

template <class Version>
void fill(typename Version::Response& response, std::span<const HealthReport> devices, std::chrono::seconds timeout) {
  response.Clear();
  for (const HealthReport& report : devices) {
    auto& out = *response.add_devices();
    out.mutable_device()->set_pool_name(report.pool);
    out.mutable_device()->set_device_name(report.device);
    out.set_health(static_cast<typename Version::HealthStatus>(status_of(report.told)));
    out.set_last_updated_time(std::chrono::system_clock::to_time_t(report.changed));
    out.set_health_check_timeout_seconds(timeout.count());
    out.set_message(report.message);
  }
}

}  // namespace

std::size_t HealthStream::send(const HealthList& list, std::size_t begin) {
  const auto rest = std::span(list).subspan(begin);
  const auto now = rest.first(std::min(rest.size(), kMaxDevicesPerWrite));
  write(now);
  return now.size() == rest.size() ? 0 : begin + now.size();
}

template <class Version>
class HealthService::Stream final : public StreamReactor<HealthStream, typename Version::Response> {
 public:
  explicit Stream(HealthService& service)
      : StreamReactor<HealthStream, typename Version::Response>(service.streams_), timeout_(service.timing_.timeout) {}

 private:
  void write(std::span<const HealthReport> devices) override {
    fill<Version>(message_, devices, timeout_);
    this->StartWrite(&message_);
  }

  const std::chrono::seconds timeout_;
  typename Version::Response message_;
};

template <class Version>
class HealthService::Service final : public Version::Rpc::CallbackService {
 public:
  explicit Service(HealthService& health) : health_(health) {}
  grpc::ServerWriteReactor<typename Version::Response>* NodeWatchResources(grpc::CallbackServerContext*,
                                                                           const typename Version::Request*) override {
    log(LogLevel::kInfo, "a client watches the health of the driver's devices",
        {{"driver", health_.driver_}, {"service", Version::Rpc::service_full_name()}});
    return Stream<Version>::template open<Stream<Version>>(health_);
  }

 private:
  HealthService& health_;
};

HealthService::HealthService(asio::io_context& core, Clock& clock, HealthBoard& board, std::string driver,
                             HealthTiming timing)
    : driver_(std::move(driver)),
      clock_(clock),
      board_(board),
      timing_(timing),
      services_{std::make_unique<Service<HealthV1>>(*this), std::make_unique<Service<HealthV1Alpha1>>(*this)},
      streams_(core, [this](HealthStream& stream) { begin(stream); }),
      wake_(core) {
  subscription_ = board_.subscribe([this](const HealthListPtr& list) { streams_.offer(list); });
}

HealthService::~HealthService() = default;

std::array<grpc::Service*, 2> HealthService::services() { return {services_[0].get(), services_[1].get()}; }

void HealthService::begin(HealthStream& stream) {
  if (streams_.size() == 1) {
    next_beat_ = clock_.now() + timing_.heartbeat;
    wake_.wake();
  }
  stream.offer(board_.current());
}

Task<void> HealthService::run() {
  while (!streams_.is_shut()) {
    if (streams_.empty()) {
      co_await wake_.wait();
      continue;
    }
    co_await wake_.wait_until(clock_, next_beat_);
    if (clock_.now() < next_beat_) continue;
    streams_.offer(board_.current());
    next_beat_ = clock_.now() + timing_.heartbeat;
  }
}

void HealthService::close() {
  streams_.shut();
  wake_.wake();
}

}  // namespace cardcage
