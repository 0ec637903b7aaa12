// Tells callers that their request could not be decoded.
#pragma once

#include <grpcpp/server_builder.h>

namespace cardcage {

// gRPC's callback API ends such calls with UNIMPLEMENTED and no text, as if the method did not exist. The built server
// ends them with INVALID_ARGUMENT and a text.
void explain_undecodable_requests(grpc::ServerBuilder& builder);

}  // namespace cardcage
