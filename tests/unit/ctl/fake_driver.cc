#include "tests/unit/ctl/fake_driver.h"

#include <grpcpp/server_builder.h>

#include <chrono>
#include <thread>

namespace cardcage {

// v1 and v1alpha1 have the same wire format, so one implementation serves both.
template <class Base, class Request, class Response>
class FakeDriver::Health final : public Base {
 public:
  explicit Health(FakeDriver& driver) : driver_(driver) {}
  grpc::Status NodeWatchResources(grpc::ServerContext* context, const Request*,
                                  grpc::ServerWriter<Response>* writer) override {
    for (const auto& message : driver_.health) {
      Response response;
      response.ParseFromString(message.SerializeAsString());
      if (!writer->Write(response)) return grpc::Status::CANCELLED;
    }
    while (!driver_.end_stream && !context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return grpc::Status::OK;
  }

 private:
  FakeDriver& driver_;
};

FakeDriver::FakeDriver(const std::filesystem::path& kubelet_root, std::string name)
    : name_(std::move(name)),
      registration_(kubelet_root / "plugins_registry" / (name_ + "-reg.sock")),
      service_(kubelet_root / "plugins" / name_ / "dra.sock") {
  std::filesystem::create_directories(registration_.parent_path());
  std::filesystem::create_directories(service_.parent_path());
  serve(true);
}

FakeDriver::~FakeDriver() { server_->Shutdown(std::chrono::system_clock::now()); }

void FakeDriver::serve(bool health_v1) {
  if (server_) server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
  health_services_.clear();
  if (health_v1)
    health_services_.push_back(
        std::make_unique<Health<api::health_v1::DRAResourceHealth::Service, api::health_v1::NodeWatchResourcesRequest,
                                api::health_v1::NodeWatchResourcesResponse>>(*this));
  health_services_.push_back(
      std::make_unique<
          Health<api::health_v1alpha1::DRAResourceHealth::Service, api::health_v1alpha1::NodeWatchResourcesRequest,
                 api::health_v1alpha1::NodeWatchResourcesResponse>>(*this));
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + registration_.native(), grpc::InsecureServerCredentials());
  builder.AddListeningPort("unix:" + service_.native(), grpc::InsecureServerCredentials());
  builder.RegisterService(static_cast<api::dra_v1::DRAPlugin::Service*>(this));
  builder.RegisterService(static_cast<api::registration::Registration::Service*>(this));
  for (const auto& service : health_services_) builder.RegisterService(service.get());
  server_ = builder.BuildAndStart();
}

std::vector<std::string> FakeDriver::calls() {
  const std::lock_guard lock(mutex_);
  return calls_;
}

void FakeDriver::record(std::string call) {
  const std::lock_guard lock(mutex_);
  calls_.push_back(std::move(call));
}

grpc::Status FakeDriver::NodePrepareResources(grpc::ServerContext*,
                                              const api::dra_v1::NodePrepareResourcesRequest* request,
                                              api::dra_v1::NodePrepareResourcesResponse* response) {
  std::string call = "prepare";
  for (const auto& claim : request->claims()) {
    call += " " + claim.namespace_() + "/" + claim.name() + "/" + claim.uid();
    if (const auto entry = prepared.find(claim.uid()); entry != prepared.end())
      (*response->mutable_claims())[claim.uid()] = entry->second;
  }
  record(call);
  return grpc::Status::OK;
}

grpc::Status FakeDriver::NodeUnprepareResources(grpc::ServerContext*,
                                                const api::dra_v1::NodeUnprepareResourcesRequest* request,
                                                api::dra_v1::NodeUnprepareResourcesResponse* response) {
  std::string call = "unprepare";
  for (const auto& claim : request->claims()) {
    call += " " + claim.namespace_() + "/" + claim.name() + "/" + claim.uid();
    (*response->mutable_claims())[claim.uid()].set_error(unprepare_errors[claim.uid()]);
  }
  record(call);
  return grpc::Status::OK;
}

grpc::Status FakeDriver::GetInfo(grpc::ServerContext*, const api::registration::InfoRequest*,
                                 api::registration::PluginInfo* info) {
  info->set_type("DRAPlugin");
  info->set_name(name_);
  info->set_endpoint(service_.native());
  info->add_supported_versions("v1.DRAPlugin");
  return grpc::Status::OK;
}

}  // namespace cardcage
