#include "host/claim/device_descriptions.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "host/model/attribute_limits.h"

namespace cardcage {
namespace {

Result<DescribedDevice> describe(const ClaimRecord& record, const HeldDevice& held, const DeviceDescriptions& described,
                                 const DeviceDirectory& devices) {
  const Allocation& allocation = held.allocation;
  DescribedDevice device{.driver = record.driver,
                         .pool = allocation.pool,
                         .name = allocation.device,
                         .attributes = {},
                         .network = held.network};
  const auto own = described.find(&held);
  if (own == described.end()) return device;
  const auto located = devices.locate(record.driver, allocation.pool, allocation.device);
  if (!located) return within(located.error(), "device '{}' cannot be described", allocation.device);
  device.attributes = located->device.attributes;
  for (const auto& [name, value] : own->second) device.attributes[name] = value;
  if (device.attributes.size() > kMaxAttributes)
    return fail(Code::kInvalidArgument,
                "device '{}' is described by {} attributes together with those that it reports, at most {} are allowed",
                allocation.device, device.attributes.size(), kMaxAttributes);
  return device;
}

// The devices of a request, described or not. They may belong to several modules.
Result<std::vector<DescribedDevice>> devices_of(const ClaimRecord& record, const std::string& request,
                                                const DeviceDescriptions& described, const DeviceDirectory& devices) {
  std::vector<DescribedDevice> list;
  for (const ModulePart& part : record.parts)
    for (const HeldDevice& held : part.devices) {
      if (base_request(held.allocation.request) != request) continue;
      auto device = describe(record, held, described, devices);
      if (!device) return std::unexpected(device.error());
      list.push_back(std::move(*device));
    }
  return list;
}

bool is_described(const ClaimRecord& record, const std::string& request, const DeviceDescriptions& described) {
  return std::ranges::any_of(record.parts, [&](const ModulePart& part) {
    return std::ranges::any_of(part.devices, [&](const HeldDevice& held) {
      return described.contains(&held) && base_request(held.allocation.request) == request;
    });
  });
}

}  // namespace

void adopt_statements(std::vector<DeviceStatement> statements, WallTime now, ModulePart& part,
                      DeviceDescriptions& described) {
  // Rounded as the ledger stores it, so that a restart changes nothing.
  const auto stored_now = std::chrono::floor<std::chrono::milliseconds>(now);
  statements.resize(part.devices.size());
  for (std::size_t i = 0; i < part.devices.size(); ++i) {
    HeldDevice& device = part.devices[i];
    DeviceStatement& statement = statements[i];
    set_times(statement.conditions, device.conditions, stored_now);
    device.conditions = std::move(statement.conditions);
    device.status_data = std::move(statement.data);
    device.network = std::move(statement.network);
    if (statement.metadata) described[&device] = *std::move(statement.metadata);
  }
}

void inherit_statements(const ModulePart& before, ModulePart& part) {
  for (HeldDevice& device : part.devices) {
    const auto same = std::ranges::find(before.devices, device.cdi_name, &HeldDevice::cdi_name);
    if (same == before.devices.end()) continue;
    device.conditions = same->conditions;
    device.status_data = same->status_data;
    device.network = same->network;
  }
}

Status plan_metadata(ClaimRecord& record, const DeviceDescriptions& described, const DeviceDirectory& devices,
                     const std::filesystem::path& folder) {
  std::vector<MetadataFile> earlier;
  for (ModulePart& part : record.parts)
    std::ranges::move(std::exchange(part.metadata, {}), std::back_inserter(earlier));
  std::vector<std::string> planned;
  for (ModulePart& part : record.parts) {
    for (const HeldDevice& held : part.devices) {
      const std::string request = base_request(held.allocation.request);
      if (std::ranges::find(planned, request) != planned.end() || !is_described(record, request, described)) continue;
      planned.push_back(request);
      const auto list = devices_of(record, request, described, devices);
      if (!list) return std::unexpected(list.error());
      const auto known = std::ranges::find(earlier, request, &MetadataFile::request);
      const std::int64_t generation = known != earlier.end() ? known->generation + 1 : 1;
      part.metadata.push_back(
          {.request = request,
           .host_path = folder / (request + ".json"),
           .container_path = metadata_container_path(record.driver, record.ref.name, record.pod_claim_name, request),
           .generation = generation,
           .content = metadata_stream(record.ref, record.pod_claim_name, generation, held.allocation.request, *list)});
    }
  }
  return {};
}

}  // namespace cardcage
