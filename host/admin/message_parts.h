// The parts that messages of several kinds share.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cardcage/admin.pb.h"
#include "host/view/daemon_view.h"

namespace cardcage {

// Makes the argument of a message's set_allocated function: the whole seconds, or null for a time that is not known.
google::protobuf::Timestamp* new_timestamp(WallTime time);
// Rounded down to milliseconds.
double seconds(Duration duration);

// Paths and texts from elsewhere may hold any bytes; a protobuf string holds only UTF-8.
std::string text(std::string_view bytes);

void fill(admin::v1::Condition& message, const Condition& condition);
inline void fill(admin::v1::Condition& message, const std::optional<Condition>& condition) {
  if (condition) fill(message, *condition);
}
// The health of the device, its causes and its cordon.
void fill_health(admin::v1::Device& message, const DeviceReport& report);

// The fields of requests, with their defaults and limits.
std::string operator_name(const std::string& given);
Duration command_limit(std::int64_t given_ms);
std::int64_t history_limit(std::uint32_t given);

}  // namespace cardcage
