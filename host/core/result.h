// The one way errors travel: std::expected with canonical codes, whose numbers are those of gRPC and the module ABI.
//
// Messages are for people: lower case, subject first, user input in quotes, the remedy if known. Callers add context
// with `within`; an error is logged once, by the outermost caller.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace cardcage {

enum class Code : std::int32_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// "invalid argument", "unavailable", ...; "code 42" for an unknown number.
std::string to_string(Code code);

struct Error {
  Code code = Code::kUnknown;
  std::string message;

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

template <class... Args>
std::unexpected<Error> fail(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

// The same error with "context: " in front: `return within(result.error(), "claim {}", uid)`.
template <class... Args>
std::unexpected<Error> within(Error error, fmt::format_string<Args...> format, Args&&... args) {
  error.message = fmt::format(format, std::forward<Args>(args)...) + ": " + error.message;
  return std::unexpected(std::move(error));
}

// "cannot open '/x': No such file or directory", with the canonical code that fits the errno value.
std::unexpected<Error> fail_errno(int error_number, std::string_view what);

}  // namespace cardcage
