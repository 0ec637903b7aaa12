#include "host/rpc/status.h"

#include "host/core/utf8.h"

namespace cardcage {

grpc::Status to_grpc(const Error& error) {
  return {static_cast<grpc::StatusCode>(error.code), cut_utf8(error.message, kMaxErrorText)};
}

Status to_status(const grpc::Status& status) {
  if (status.ok()) return {};
  return fail(static_cast<Code>(status.error_code()), "{}", status.error_message());
}

}  // namespace cardcage
