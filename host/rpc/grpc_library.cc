#include "host/rpc/grpc_library.h"

#include <absl/synchronization/mutex.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <memory>

namespace cardcage {

void hold_grpc() {
  // Debian builds Abseil with its debug checks, which record the order of each lock that gRPC takes.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // An unused channel is enough, and connects nowhere. It is never destroyed, so that the exit is quick.
  [[maybe_unused]] static const auto* const held =
      new std::shared_ptr<grpc::Channel>(grpc::CreateChannel("unix:/unused", grpc::InsecureChannelCredentials()));
}

}  // namespace cardcage
