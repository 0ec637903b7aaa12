#include "host/dra/dra_service.h"

#include <algorithm>

#include "host/core/utf8.h"

namespace cardcage {
namespace {

constexpr int kMaxClaims = 1024;
// Leaves room for the bytes that protobuf adds around each claim.
constexpr std::size_t kMaxResultBytes = api::kMaxAnswerBytes - 64 * kMaxClaims;

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
template <class ClaimResult>
void write_error(const Error& error, ClaimResult& out) {
  out.Clear();
  out.set_error(cut_utf8(error.message.empty() ? to_string(error.code) : error.message, kMaxErrorText));
}

template <class Response>
void write_results(const ClaimBatch& batch, Response& response) {
  std::size_t total = 0;
  for (const ClaimEntry& entry : batch) {
    auto& out = (*response.mutable_claims())[entry.ref.uid];
    const auto& result = *entry.result;
    if (!result) {
      write_error(result.error(), out);
    } else if constexpr (requires { out.add_devices(); }) {
      for (const PreparedDevice& device : *result) write_device(device, *out.add_devices());
    }
    const std::size_t size = entry.ref.uid.size() + out.ByteSizeLong();
    if (total + size > kMaxResultBytes)
      write_error({Code::kResourceExhausted,
                   fmt::format("claim '{}/{}': its devices take {} bytes, "
                               "which does not fit into the 4 MiB that the kubelet reads: use fewer devices per pod",
                               entry.ref.name_space, entry.ref.name, size)},
                  out);
    total += entry.ref.uid.size() + out.ByteSizeLong();
  }
}

// Refers to the ClaimService only: the call may outlive the DraService.
template <class Response>
Task<Result<Response>> run_request(asio::io_context& core, ClaimService& claims, ClaimOperation operation,
                                   ClaimBatch batch, Instant deadline) {
  const ClaimBatch done = co_await run_claims(core, claims, operation, std::move(batch), deadline);
  Response response;
  write_results(done, response);
  co_return response;
}

}  // namespace

template <class Version>
class DraService::Service final : public Version::Service {
 public:
  explicit Service(DraService& dra) : dra_(dra) {}
  grpc::ServerUnaryReactor* NodePrepareResources(grpc::CallbackServerContext* context,
                                                 const typename Version::PrepareRequest* request,
                                                 typename Version::PrepareResponse* response) override {
    return dra_.respond(*context, ClaimOperation::kPrepare, *request, *response);
  }
  grpc::ServerUnaryReactor* NodeUnprepareResources(grpc::CallbackServerContext* context,
                                                   const typename Version::UnprepareRequest* request,
                                                   typename Version::UnprepareResponse* response) override {
    return dra_.respond(*context, ClaimOperation::kUnprepare, *request, *response);
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
      calls_(core) {}

DraService::~DraService() = default;

void DraService::set_limits(const DraLimits& limits) {
  prepare_limit_ = limits.prepare;
  unprepare_limit_ = limits.unprepare;
}

std::array<grpc::Service*, 2> DraService::services() { return {services_[0].get(), services_[1].get()}; }

template <class Request, class Response>
grpc::ServerUnaryReactor* DraService::respond(grpc::CallbackServerContext& context, ClaimOperation operation,
                                              const Request& request, Response& response) {
  if (calls_.draining()) return finish_at_once(context, to_grpc(shutting_down()));
  if (request.claims().empty()) return finish_at_once(context, grpc::Status::OK);
  if (request.claims_size() > kMaxClaims)
    return finish_at_once(context,
                          to_grpc({Code::kResourceExhausted, fmt::format("the request names {} claims, the limit is {}",
                                                                         request.claims_size(), kMaxClaims)}));
  std::vector<ClaimRef> refs;
  refs.reserve(static_cast<std::size_t>(request.claims_size()));
  for (const auto& claim : request.claims()) refs.push_back({claim.namespace_(), claim.name(), claim.uid()});
  const Duration limit =
      time_to_respond(context, operation == ClaimOperation::kPrepare ? prepare_limit_ : unprepare_limit_);
  return calls_.respond(
      response, [this, operation, limit, batch = check_claims(std::move(refs))](const OpenCall&) mutable {
        return run_request<Response>(core_, claims_, operation, std::move(batch), clock_.now() + limit);
      });
}

}  // namespace cardcage
