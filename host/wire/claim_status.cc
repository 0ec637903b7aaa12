// Converts the statements of prepare about devices.
#include "host/wire/messages.h"

namespace cardcage {

void write(const DeviceCondition& from, wire::DeviceCondition& to) {
  to.set_type(from.type);
  to.set_status(static_cast<std::uint32_t>(from.status));
  to.set_reason(from.reason);
  to.set_message(from.message);
}

DeviceCondition read(const wire::DeviceCondition& from) {
  using enum DeviceCondition::Status;
  const bool known = from.status() <= static_cast<std::uint32_t>(kUnknown);
  return {.type = from.type(),
          .status = known ? static_cast<DeviceCondition::Status>(from.status()) : kUnknown,
          .reason = from.reason(),
          .message = from.message(),
          .since = {}};
}

void write(const DeviceStatement& from, wire::DeviceStatement& to) {
  for (const DeviceCondition& condition : from.conditions) write(condition, *to.add_conditions());
  to.set_data(from.data);
  if (from.network) {
    wire::NetworkData& network = *to.mutable_network();
    network.set_interface_name(from.network->interface_name);
    write(from.network->ips, *network.mutable_ips());
    network.set_hardware_address(from.network->hardware_address);
  }
  to.set_described(from.metadata.has_value());
  if (from.metadata) write(*from.metadata, *to.mutable_metadata());
}

DeviceStatement read(const wire::DeviceStatement& from) {
  DeviceStatement statement;
  for (const wire::DeviceCondition& in : from.conditions()) statement.conditions.push_back(read(in));
  statement.data = from.data();
  if (from.has_network())
    statement.network = NetworkData{.interface_name = from.network().interface_name(),
                                    .ips = read(from.network().ips()),
                                    .hardware_address = from.network().hardware_address()};
  if (from.described()) statement.metadata = read(from.metadata()).value_or(Attributes());
  return statement;
}

}  // namespace cardcage
