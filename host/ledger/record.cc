#include "host/ledger/record.h"

#include <algorithm>
#include <utility>

#include "host/cdi/names.h"
#include "host/core/ascii.h"

namespace cardcage {
namespace {

// Container runtimes refuse a CDI device without edits, but the kubelet needs one for each device. So a device without
// edits of its own gets a variable that states its presence.
EnvVar presence_variable(const HeldDevice& device) {
  std::string name = "CARDCAGE_DEVICE_" + device.allocation.device;
  for (char& c : name) {
    c = to_upper(c);
    if (c == '-' || c == '.') c = '_';
  }
  return {std::move(name), device.allocation.driver};
}

}  // namespace

std::string_view to_string(ClaimPhase phase) {
  switch (phase) {
    case ClaimPhase::kPreparing: return "preparing";
    case ClaimPhase::kPrepared: return "prepared";
    case ClaimPhase::kUnpreparing: return "unpreparing";
    case ClaimPhase::kBinding: return "binding";
  }
  return "unknown";
}

bool is_whole(const ClaimRecord& record, std::string_view boot_id) {
  return record.phase == ClaimPhase::kPrepared && record.boot_id == boot_id;
}

bool holds_devices(const ClaimRecord& record, std::string_view boot_id) {
  return record.boot_id == boot_id || record.served().is_resource();
}

const std::vector<Holder>& holders_of(const ClaimRecord& record) {
  static const std::vector<Holder> none;
  if (record.parts.empty() || record.parts.front().devices.empty()) return none;
  return record.parts.front().devices.front().holders;
}

std::string claim_label(const ClaimRef& ref) {
  return ref.name.empty() ? ref.uid : fmt::format("{}/{}", ref.name_space, ref.name);
}

std::string claim_subject(std::string_view driver, const ClaimRef& ref) {
  return served_name_from_stored(std::string(driver)).is_resource()
             ? fmt::format("device '{}' of resource '{}'", ref.uid, driver)
             : fmt::format("claim {}", claim_label(ref));
}

ModuleClaim module_claim(const ClaimRecord& record, const ModulePart& part, std::string_view boot_id) {
  ModuleClaim claim{.ref = record.ref,
                    .allocations = {},
                    .params = part.params,
                    .state = part.state,
                    .state_version = part.state_version,
                    .journal = part.journal,
                    .resource = record.served().is_resource() ? record.served().name : std::string(),
                    .other_boot = part.state_of_other_boot || record.boot_id != boot_id,
                    .module_id = part.module_id};
  for (const HeldDevice& device : part.devices) {
    const Allocation& from = device.allocation;
    claim.allocations.push_back({.device_id = device.device_id,
                                 .request = from.request,
                                 .share_id = from.share_id,
                                 .admin_access = from.admin_access,
                                 .consumed_capacity = from.consumed_capacity,
                                 .values = device.values});
  }
  return claim;
}

std::vector<DeviceEdits> device_edits(const ClaimRecord& record) {
  std::vector<DeviceEdits> all;
  for (const ModulePart& part : record.parts)
    for (const HeldDevice& device : part.devices) all.push_back({device.allocation.device, &device.edits, &part.edits});
  return all;
}

static Edits without_lists(Edits edits) {
  edits.env_lists.clear();
  return edits;
}

// A container with a request gets all devices of it, so the file comes with the first one.
static void add_metadata(const ModulePart& part, std::vector<CdiDevice>::iterator first, CdiSpec& spec) {
  for (const MetadataFile& file : part.metadata) {
    const auto holder = std::ranges::find(
        part.devices, file.request, [](const HeldDevice& device) { return base_request(device.allocation.request); });
    if (holder == part.devices.end()) continue;
    first[holder - part.devices.begin()].edits.mounts.push_back(
        {.host_path = file.host_path, .container_path = file.container_path, .type = "", .options = {"ro", "bind"}});
    spec.files.push_back(file);
  }
}

CdiSpec cdi_spec(const ClaimRecord& record) {
  CdiSpec spec;
  spec.kind = cdi_kind(record.served());
  for (const ModulePart& part : record.parts) {
    merge(spec.edits, without_lists(part.edits));
    const auto earlier = static_cast<std::ptrdiff_t>(spec.devices.size());
    for (const HeldDevice& device : part.devices) {
      CdiDevice& entry = spec.devices.emplace_back(CdiDevice{device.cdi_name, without_lists(device.edits)});
      if (entry.edits.empty()) entry.edits.env.push_back(presence_variable(device));
    }
    add_metadata(part, spec.devices.begin() + earlier, spec);
  }
  // A resource gets them in the response to Allocate: the files of its devices would replace each other's values.
  if (!record.served().is_resource())
    for (EnvVar& joined : joined_lists(device_edits(record))) spec.edits.env.push_back(std::move(joined));
  return spec;
}

std::vector<PreparedDevice> prepared_devices(const ClaimRecord& record) {
  std::vector<PreparedDevice> devices;
  for (const ModulePart& part : record.parts) {
    for (const HeldDevice& device : part.devices) {
      devices.push_back({.request_names = {base_request(device.allocation.request)},
                         .pool = device.allocation.pool,
                         .device = device.allocation.device,
                         .cdi_device_ids = {cdi_qualified_name(record.served(), device.cdi_name)},
                         .share_id = device.allocation.share_id});
    }
  }
  return devices;
}

// A claim may have a device twice, for administration; it has one entry.
std::vector<DeviceStatus> device_statuses(const ClaimRecord& record) {
  std::vector<DeviceStatus> statuses;
  if (record.served().is_resource()) return statuses;
  for (const ModulePart& part : record.parts) {
    for (const HeldDevice& device : part.devices) {
      if (device.conditions.empty() && device.status_data.empty() && !device.network) continue;
      const Allocation& from = device.allocation;
      const auto same = [&](const DeviceStatus& other) {
        return other.pool == from.pool && other.device == from.device && other.share_id == from.share_id;
      };
      if (std::ranges::any_of(statuses, same)) continue;
      statuses.push_back({.driver = record.driver,
                          .pool = from.pool,
                          .device = from.device,
                          .share_id = from.share_id,
                          .conditions = device.conditions,
                          .data = device.status_data,
                          .network = device.network});
    }
  }
  return statuses;
}

}  // namespace cardcage
