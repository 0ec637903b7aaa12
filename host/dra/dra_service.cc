#include "host/dra/dra_service.h"

#include <algorithm>

#include "host/core/utf8.h"

namespace cardcage {
namespace {

constexpr int kMaxClaims = 1024;
// Room for the answers; the rest of the 4 MiB is for what protobuf adds around an entry.
constexpr std::size_t kMaxAnswers = api::kMaxAnswerBytes - 64 * kMaxClaims;

struct V1 {
  using Service = api::dra_v1::DRAPlugin::CallbackService;
  using PrepareRequest = api::dra_v1::NodePrepareResourcesRequest;
  using PrepareResponse = api::dra_v1::NodePrepareResourcesResponse;
  using UnprepareRequest = api::dra_v1::NodeUnprepareResourcesRequest;
  using UnprepareResponse = api::dra_v1::NodeUnprepareResourcesResponse;
};
struct V1Beta1 {
  using Service = api::dra_v1beta1::DRAPlugin::CallbackService;
  using PrepareRequest = api::dra_v1beta1::NodePrepareResourcesRequest;
  using PrepareResponse = api::dra_v1beta1::NodePrepareResourcesResponse;
  using UnprepareRequest = api::dra_v1beta1::NodeUnprepareResourcesRequest;
  using UnprepareResponse = api::dra_v1beta1::NodeUnprepareResourcesResponse;
};

template <class Device>
void write_device(const PreparedDevice& device, Device& out) {
  for (const std::string& name : device.request_names) out.add_request_names(name);
  out.set_pool_name(device.pool);
  out.set_device_name(device.device);
  for (const std::string& id : device.cdi_device_ids) out.add_cdi_device_ids(id);
  if constexpr (requires { out.set_share_id(device.share_id); })
    if (!device.share_id.empty()) out.set_share_id(device.share_id);
}

// An empty error would mean success.
template <class Answer>
void write_error(const Error& error, Answer& out) {
  out.Clear();
  out.set_error(cut_utf8(error.message.empty() ? to_string(error.code) : error.message, kMaxErrorText));
}

template <class Response>
void write_answers(const ClaimBatch& batch, Response& response) {
  std::size_t total = 0;
  for (const ClaimEntry& entry : batch.entries()) {
    auto& out = (*response.mutable_claims())[entry.ref.uid];
    const auto& answer = *entry.answer;
    if (!answer) {
      write_error(answer.error(), out);
    } else if constexpr (requires { out.add_devices(); }) {
      for (const PreparedDevice& device : *answer) write_device(device, *out.add_devices());
    }
    const std::size_t size = entry.ref.uid.size() + out.ByteSizeLong();
    if (total + size > kMaxAnswers)
      write_error({Code::kResourceExhausted,
                   fmt::format("claim '{}/{}': its answer of {} bytes does not fit into the 4 MiB that the kubelet "
                               "reads: use fewer devices per pod",
                               entry.ref.name_space, entry.ref.name, size)},
                  out);
    total += entry.ref.uid.size() + out.ByteSizeLong();
  }
}

// One RPC. Reactions come on threads of gRPC and only post; the core finishes it, once.
template <class Response>
class Exchange final : public grpc::ServerUnaryReactor {
 public:
  Exchange(asio::io_context& core, std::shared_ptr<ClaimBatch> batch, Response& response)
      : core_(core), batch_(std::move(batch)), response_(response) {}

  // [core] The object may be gone afterwards.
  void answer(const ClaimBatch& batch) {
    if (batch.outcome()) write_answers(batch, response_);
    Finish(batch.outcome() ? grpc::Status::OK : to_grpc(batch.outcome().error()));
  }
  void OnCancel() override {
    asio::post(core_, [batch = batch_] { batch->abort({Code::kCancelled, "the caller gave up"}); });
  }
  void OnDone() override { delete this; }

 private:
  asio::io_context& core_;
  const std::shared_ptr<ClaimBatch> batch_;
  Response& response_;  // lives until OnDone
};

}  // namespace

template <class Version>
class DraService::Service final : public Version::Service {
 public:
  explicit Service(DraService& dra) : dra_(dra) {}
  grpc::ServerUnaryReactor* NodePrepareResources(grpc::CallbackServerContext* context,
                                                 const typename Version::PrepareRequest* request,
                                                 typename Version::PrepareResponse* response) override {
    return dra_.take(*context, ClaimOperation::kPrepare, *request, *response);
  }
  grpc::ServerUnaryReactor* NodeUnprepareResources(grpc::CallbackServerContext* context,
                                                   const typename Version::UnprepareRequest* request,
                                                   typename Version::UnprepareResponse* response) override {
    return dra_.take(*context, ClaimOperation::kUnprepare, *request, *response);
  }

 private:
  DraService& dra_;
};

DraService::DraService(asio::io_context& core, Clock& clock, ClaimService& claims, DraLimits limits)
    : core_(core),
      clock_(clock),
      claims_(claims),
      prepare_limit_(limits.prepare),
      unprepare_limit_(limits.unprepare),
      services_{std::make_unique<Service<V1>>(*this), std::make_unique<Service<V1Beta1>>(*this)},
      open_(core, clock) {}

DraService::~DraService() = default;

void DraService::set_limits(const DraLimits& limits) {
  prepare_limit_ = limits.prepare;
  unprepare_limit_ = limits.unprepare;
}

std::array<grpc::Service*, 2> DraService::services() { return {services_[0].get(), services_[1].get()}; }

template <class Request, class Response>
grpc::ServerUnaryReactor* DraService::take(grpc::CallbackServerContext& context, ClaimOperation operation,
                                           const Request& request, Response& response) {
  if (open_.draining()) return at_once(context, to_grpc(going_away()));
  if (request.claims().empty()) return at_once(context, grpc::Status::OK);
  if (request.claims_size() > kMaxClaims)
    return at_once(context,
                   to_grpc({Code::kResourceExhausted, fmt::format("the request names {} claims, the limit is {}",
                                                                  request.claims_size(), kMaxClaims)}));
  std::vector<ClaimRef> refs;
  refs.reserve(static_cast<std::size_t>(request.claims_size()));
  for (const auto& claim : request.claims()) refs.push_back({claim.namespace_(), claim.name(), claim.uid()});
  const auto batch = std::make_shared<ClaimBatch>(core_, operation, claim_entries(std::move(refs)));
  const Duration limit =
      time_to_answer(context, operation == ClaimOperation::kPrepare ? prepare_limit_ : unprepare_limit_);
  auto* exchange = new Exchange<Response>(core_, batch, response);
  asio::post(core_, [this, batch, limit, exchange] {
    spawn(core_, serve(batch, limit, [exchange](const ClaimBatch& done) { exchange->answer(done); }));
  });
  return exchange;
}

Task<void> DraService::serve(std::shared_ptr<ClaimBatch> batch, Duration limit,
                             std::function<void(const ClaimBatch&)> answer) {
  open_.add(batch);
  co_await batch->run(claims_, clock_, limit);
  answer(*batch);
  open_.remove(batch);
}

}  // namespace cardcage
