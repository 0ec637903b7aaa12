// Parts that calls to the API server share.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "host/apiserver/json_view.h"
#include "host/core/result.h"

namespace cardcage {

constexpr std::size_t kMaxObject = std::size_t{4} << 20;  // etcd holds 1.5 MiB
// Drivers that start within this time of each other share what they read first.
constexpr std::chrono::seconds kSharedReads{2};

// A watch gets a bookmark each minute. One that misses two has lost its connection, since a firewall on the way may
// drop it without a word; or it continues from a version that the server no longer has, since etcd was restored from a
// backup. In both cases, list again.
constexpr std::chrono::seconds kLongestSilence{130};

inline Result<json::value> parse_response(const Result<std::string>& body) {
  if (!body) return std::unexpected(body.error());
  auto value = parse_json(*body, "the response of the API server");
  if (!value) value.error().code = Code::kUnavailable;  // it was cut short on the way; a retry may help
  return value;
}

}  // namespace cardcage
