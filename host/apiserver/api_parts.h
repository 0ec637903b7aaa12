// Parts that calls to the API server share.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "host/apiserver/json_view.h"
#include "host/core/result.h"

namespace cardcage {

constexpr std::size_t kMaxObject = std::size_t{4} << 20;  // etcd holds 1.5 MiB
// Drivers of one daemon start within this time, and share what they read first.
constexpr std::chrono::seconds kShared{2};

inline Result<json::value> parse_response(const Result<std::string>& body) {
  if (!body) return std::unexpected(body.error());
  auto value = parse_json(*body, "the response of the API server");
  if (!value) value.error().code = Code::kUnavailable;  // it was cut short on the way; a retry may help
  return value;
}

}  // namespace cardcage
