// Calls a running daemon on its admin socket, as cagectl does.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>

#include <filesystem>

#include "cardcage/admin.grpc.pb.h"

namespace cardcage {

class AdminClient {
 public:
  explicit AdminClient(const std::filesystem::path& socket)
      : stub_(admin::v1::Admin::NewStub(
            grpc::CreateChannel("unix:" + socket.native(), grpc::InsecureChannelCredentials()))) {}

  admin::v1::GetStatusResponse status() { return call(&admin::v1::Admin::Stub::GetStatus, {}); }
  admin::v1::ListModulesResponse modules() { return call(&admin::v1::Admin::Stub::ListModules, {}); }
  admin::v1::ReloadResponse reload(bool dry_run = false) {
    admin::v1::ReloadRequest request;
    request.set_dry_run(dry_run);
    return call(&admin::v1::Admin::Stub::Reload, request);
  }
  // The state that cagectl shows, such as "ready"; empty for an unknown module.
  std::string state_of(const std::string& module) {
    const auto list = modules();
    for (const auto& entry : list.modules())
      if (entry.name() == module) return entry.state().state();
    return "";
  }

 private:
  // Returns an empty response if the call fails, in which the test then misses its values.
  template <class Request, class Response>
  Response call(grpc::Status (admin::v1::Admin::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                const Request& request) {
    Response response;
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    (stub_.get()->*method)(&context, request, &response);
    return response;
  }
  std::unique_ptr<admin::v1::Admin::Stub> stub_;
};

}  // namespace cardcage
