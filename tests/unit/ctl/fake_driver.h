// A DRA driver of another vendor: registers in a kubelet's folder and sends the test's prepared responses.
#pragma once

#include <grpcpp/server.h>

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/kubelet/protocol.h"

namespace cardcage {

class FakeDriver final : public api::dra_v1::DRAPlugin::Service, public api::registration::Registration::Service {
 public:
  // Serves <kubelet_root>/plugins_registry/<name>-reg.sock and <kubelet_root>/plugins/<name>/dra.sock.
  FakeDriver(const std::filesystem::path& kubelet_root, std::string name);
  ~FakeDriver() override;

  // Responses by claim UID; a claim without one is left out of the response.
  std::map<std::string, api::dra_v1::NodePrepareResourceResponse> prepared;
  std::map<std::string, std::string> unprepare_errors;
  // Messages of the health stream, in order; afterwards it stays open until the reader leaves.
  std::vector<api::health_v1::NodeWatchResourcesResponse> health;
  bool end_stream = false;           // ends the stream after the messages instead
  std::vector<std::string> calls();  // "prepare uid-1 uid-2", ...
  const std::filesystem::path& service() const { return service_; }

  grpc::Status NodePrepareResources(grpc::ServerContext*, const api::dra_v1::NodePrepareResourcesRequest*,
                                    api::dra_v1::NodePrepareResourcesResponse*) override;
  grpc::Status NodeUnprepareResources(grpc::ServerContext*, const api::dra_v1::NodeUnprepareResourcesRequest*,
                                      api::dra_v1::NodeUnprepareResourcesResponse*) override;
  grpc::Status GetInfo(grpc::ServerContext*, const api::registration::InfoRequest*,
                       api::registration::PluginInfo*) override;

  // `false` serves only the old health service, as drivers for Kubernetes before 1.37 do. Call this before any other
  // call.
  void serve(bool health_v1);

 private:
  template <class Base, class Request, class Response>
  class Health;

  void record(std::string call);

  const std::string name_;
  const std::filesystem::path registration_, service_;
  std::mutex mutex_;
  std::vector<std::string> calls_;
  std::vector<std::unique_ptr<grpc::Service>> health_services_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace cardcage
