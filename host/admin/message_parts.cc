#include "host/admin/message_parts.h"

#include <algorithm>

#include "host/core/bounded.h"
#include "host/core/utf8.h"

namespace cardcage {
namespace {

namespace wire = admin::v1;

constexpr std::int64_t kDefaultHistory = 100, kMaxHistory = 10'000;
constexpr std::size_t kMaxText = 8u << 10;
constexpr std::chrono::milliseconds kDefaultLimit = std::chrono::seconds(30), kMaxLimit = std::chrono::minutes(10);

}  // namespace

google::protobuf::Timestamp* new_timestamp(WallTime time) {
  if (time == WallTime{}) return nullptr;
  auto* message = new google::protobuf::Timestamp;
  message->set_seconds(std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count());
  return message;
}

double seconds(Duration duration) {
  return static_cast<double>(std::chrono::floor<std::chrono::milliseconds>(duration).count()) / 1000;
}

std::string text(std::string_view bytes) { return cut_utf8(bytes, kMaxText); }

void fill(wire::Condition& message, const Condition& condition) {
  message.set_level(std::string(to_string(condition.level)));
  message.set_state(condition.reason);
  message.set_detail(text(condition.text));
}

std::string operator_name(const std::string& given) { return given.empty() ? "an operator" : given; }

Duration command_limit(std::int64_t given_ms) {
  return given_ms <= 0 ? kDefaultLimit : bounded(given_ms, std::chrono::milliseconds(1), kMaxLimit);
}

std::int64_t history_limit(std::uint32_t given) {
  return given == 0 ? kDefaultHistory : std::min<std::int64_t>(given, kMaxHistory);
}

}  // namespace cardcage
