// Converts our errors to gRPC statuses and back. The codes have the same numbers.
#pragma once

#include <grpcpp/support/status.h>

#include <cstddef>

#include "host/core/result.h"

namespace cardcage {

// Bytes of an error that a pod event keeps.
constexpr std::size_t kMaxErrorText = 1024;

// [any-thread]
grpc::Status to_grpc(const Error& error);
// Converts the code and text of a finished call.
Status to_status(const grpc::Status& status);

}  // namespace cardcage
