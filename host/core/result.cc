#include "host/core/result.h"

#include <array>
#include <cerrno>
#include <system_error>

namespace cardcage {

std::string to_string(Code code) {
  static constexpr std::array<std::string_view, 17> kNames = {
      "ok",        "cancelled",      "unknown",           "invalid argument",   "deadline exceeded",
      "not found", "already exists", "permission denied", "resource exhausted", "failed precondition",
      "aborted",   "out of range",   "unimplemented",     "internal",           "unavailable",
      "data loss", "unauthenticated"};
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? std::string(kNames[index]) : fmt::format("code {}", static_cast<std::int32_t>(code));
}

static Code code_of(int error_number) {
  switch (error_number) {
    case ENOENT: return Code::kNotFound;
    case EEXIST: return Code::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS: return Code::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM: return Code::kResourceExhausted;
    case EINVAL:
    case ENAMETOOLONG: return Code::kInvalidArgument;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE: return Code::kUnavailable;
    case ETIMEDOUT: return Code::kDeadlineExceeded;
    default: return Code::kInternal;
  }
}

std::unexpected<Error> fail_errno(int error_number, std::string_view what) {
  return fail(code_of(error_number), "{}: {}", what, std::generic_category().message(error_number));
}

}  // namespace cardcage
