#include "host/rpc/request_decoding.h"

#include <grpcpp/support/server_interceptor.h>

#include <memory>
#include <utility>
#include <vector>

#include "host/rpc/status.h"

namespace cardcage {
namespace {

using grpc::experimental::InterceptionHookPoints;

// One call: remembers whether its request was decoded, and replaces the status if it was not.
class RequestDecoding final : public grpc::experimental::Interceptor {
 public:
  void Intercept(grpc::experimental::InterceptorBatchMethods* batch) override {
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE))
      undecodable_ = batch->GetRecvMessage() == nullptr;
    if (undecodable_ && batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS))
      batch->ModifySendStatus(
          to_grpc({Code::kInvalidArgument, "the request is not the message that this method takes"}));
    batch->Proceed();
  }

 private:
  bool undecodable_ = false;
};

class RequestDecodings final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo*) override {
    return new RequestDecoding;  // gRPC takes ownership
  }
};

}  // namespace

void explain_undecodable_requests(grpc::ServerBuilder& builder) {
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> creators;
  creators.push_back(std::make_unique<RequestDecodings>());
  builder.experimental().SetInterceptorCreators(std::move(creators));
}

}  // namespace cardcage
