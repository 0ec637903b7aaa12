#include "fleet/fleet_query.h"

#include <algorithm>
#include <array>

#include "host/core/number.h"

namespace cardcage {
namespace {

constexpr std::size_t kMostNodes = 500, kMostDevices = 1000;
constexpr std::array<DeviceState, kDeviceStates> kStates = {DeviceState::kUnhealthy, DeviceState::kCordoned,
                                                            DeviceState::kHeld, DeviceState::kFree};
constexpr std::array<std::string_view, 6> kOrders = {"name", "devices", "free", "held", "unhealthy", "cordoned"};

Result<std::size_t> number(const Parameter& parameter, std::string_view name, std::size_t otherwise, std::size_t least,
                           std::size_t most) {
  const auto text = parameter(name);
  if (!text) return otherwise;
  const auto number = number_from<std::size_t>(*text);
  if (!number || *number < least || *number > most)
    return fail(Code::kInvalidArgument, "{} must be a number from {} to {}", name, least, most);
  return *number;
}

constexpr std::size_t kMostOffset = 10'000'000;

}  // namespace

bool DeviceFilter::selects(const FleetPool& pool, const FleetPool::Device& device) const {
  if (driver && pool.driver().get() != *driver) return false;
  if (model && device.about().model.get() != *model) return false;
  if (state && device.state != *state) return false;
  return !cause || std::ranges::any_of(pool.taints(device), [this](const FleetPool::Taint& taint) {
    return taint.taint->effect != FleetEffect::kNone && taint.taint->cause().get() == *cause;
  });
}

Result<DeviceFilter> device_filter(const Parameter& parameter) {
  DeviceFilter filter{
      .driver = parameter("driver"), .model = parameter("model"), .cause = parameter("cause"), .state = {}};
  const auto state = parameter("state");
  if (!state || state->empty()) return filter;
  const auto* const found = std::ranges::find(kStates, *state, [](DeviceState known) { return word(known); });
  if (found == kStates.end()) return fail(Code::kInvalidArgument, "state must be free, held, unhealthy or cordoned");
  filter.state = *found;
  return filter;
}

Result<NodeQuery> node_query(const Parameter& parameter) {
  auto filter = device_filter(parameter);
  if (!filter) return std::unexpected(filter.error());
  const auto offset = number(parameter, "offset", 0, 0, kMostOffset);
  if (!offset) return std::unexpected(offset.error());
  const auto limit = number(parameter, "limit", 100, 1, kMostNodes);
  if (!limit) return std::unexpected(limit.error());
  NodeQuery query{
      .filter = std::move(*filter), .name_part = parameter("query").value_or(""), .offset = *offset, .limit = *limit};
  const std::string sort = parameter("sort").value_or("name");
  query.descending = sort.starts_with('-');
  const auto* const order = std::ranges::find(kOrders, std::string_view(sort).substr(query.descending ? 1 : 0));
  if (order == kOrders.end())
    return fail(Code::kInvalidArgument,
                "sort must be name, devices, free, held, unhealthy or cordoned, or one of "
                "these after '-'");
  query.order = static_cast<NodeOrder>(order - kOrders.begin());
  return query;
}

Result<DeviceQuery> device_query(const Parameter& parameter) {
  const auto offset = number(parameter, "offset", 0, 0, kMostOffset);
  if (!offset) return std::unexpected(offset.error());
  const auto limit = number(parameter, "limit", kMostDevices, 1, kMostDevices);
  if (!limit) return std::unexpected(limit.error());
  return DeviceQuery{*offset, *limit};
}

}  // namespace cardcage
