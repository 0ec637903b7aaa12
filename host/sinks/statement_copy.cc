#include "host/sinks/statement_copy.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "host/model/interface_address.h"
#include "host/model/naming.h"
#include "host/sinks/borrowed.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxReason = 128, kMaxMessage = 1024, kMaxData = std::size_t{10} << 10;
constexpr std::size_t kMaxInterface = 256, kMaxHardwareAddress = 128, kMaxAddresses = 16;

bool is_reason(std::string_view text) { return is_camel_case(text, kMaxReason); }

Result<std::string> copy_text(cage_str given, std::size_t max, std::string_view what) {
  const auto text = text_of(given, max, what);
  if (!text) return std::unexpected(text.error());
  if (!is_utf8(*text)) return fail(Code::kInvalidArgument, "{} is not UTF-8", what);
  return std::string(*text);
}

}  // namespace

Result<DeviceCondition> copy_condition(const cage_condition* given) {
  const auto adopted = adopt(given, "cage_condition");
  if (!adopted) return std::unexpected(adopted.error());
  auto type =
      ruled_text(adopted->type, is_label_key, "type of a condition", "a name such as Ready or example.com/Linked");
  if (!type) return std::unexpected(type.error());
  auto reason = ruled_text(adopted->reason, is_reason, "reason", "a CamelCase token of 1 to 128 characters");
  if (!reason) return within(reason.error(), "condition '{}'", *type);
  auto message = copy_text(adopted->message, kMaxMessage, "message");
  if (!message) return within(message.error(), "condition '{}'", *type);
  if (adopted->status > CAGE_CONDITION_UNKNOWN)
    return fail(Code::kInvalidArgument, "condition '{}': status {} is not one of CAGE_CONDITION_*", *type,
                adopted->status);
  return DeviceCondition{.type = std::move(*type),
                         .status = static_cast<DeviceCondition::Status>(adopted->status),
                         .reason = std::move(*reason),
                         .message = std::move(*message),
                         .since = {}};
}

Status replace_condition(std::vector<DeviceCondition>& conditions, DeviceCondition condition) {
  const auto known = std::ranges::find(conditions, condition.type, &DeviceCondition::type);
  if (known != conditions.end()) {
    *known = std::move(condition);
    return {};
  }
  if (conditions.size() == kMaxConditions)
    return fail(Code::kResourceExhausted, "condition '{}' would be one more than the {} that a device may have",
                condition.type, kMaxConditions);
  conditions.push_back(std::move(condition));
  return {};
}

Result<std::string> copy_status_data(cage_str json) {
  const auto text = text_of(json, kMaxData, "data");
  if (!text) return std::unexpected(text.error());
  boost::system::error_code failure;
  const auto parsed = boost::json::parse(*text, failure);
  if (failure || !parsed.is_object())
    return fail(Code::kInvalidArgument, "data '{}' is not a JSON object{}{}", printable(*text, kQuoted),
                failure ? ": " : "", failure ? failure.message() : "");
  std::string written = boost::json::serialize(parsed);
  if (written.size() > kMaxData)
    return fail(Code::kInvalidArgument, "data has {} bytes, at most {} are allowed", written.size(), kMaxData);
  return written;
}

Result<NetworkData> copy_network_data(const cage_network_data* given) {
  const auto adopted = adopt(given, "cage_network_data");
  if (!adopted) return std::unexpected(adopted.error());
  auto name = copy_text(adopted->interface_name, kMaxInterface, "interface_name");
  if (!name) return std::unexpected(name.error());
  auto hardware = copy_text(adopted->hardware_address, kMaxHardwareAddress, "hardware_address");
  if (!hardware) return std::unexpected(hardware.error());
  const auto addresses = items_of(adopted->ips, adopted->ip_count, kMaxAddresses, "ips");
  if (!addresses) return std::unexpected(addresses.error());
  NetworkData network{.interface_name = std::move(*name), .ips = {}, .hardware_address = std::move(*hardware)};
  for (const cage_str& address : *addresses) {
    const auto text = text_of(address, 64, "address");
    if (!text) return std::unexpected(text.error());
    auto canonical = canonical_interface_address(*text);
    if (!canonical)
      return fail(Code::kInvalidArgument, "'{}' is not an address with the length of its prefix, such as 10.1.2.3/24",
                  printable(*text, kQuoted));
    if (std::ranges::find(network.ips, *canonical) != network.ips.end())
      return fail(Code::kInvalidArgument, "address '{}' appears twice", *canonical);
    network.ips.push_back(*std::move(canonical));
  }
  return network;
}

}  // namespace cardcage
