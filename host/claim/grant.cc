#include "host/claim/grant.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "host/cdi/names.h"

namespace cardcage {
namespace {

Status check_direct(const std::string& resource, const Edits& edits, const std::string& device) {
  const char* const what = !edits.hooks.empty()             ? "hooks"
                           : !edits.net_devices.empty()     ? "network devices"
                           : !edits.additional_gids.empty() ? "group ids"
                                                            : nullptr;
  if (what)
    return fail(Code::kFailedPrecondition,
                "device '{}' of resource '{}': its module gives {}, which deliver = \"direct\" cannot carry; write "
                "deliver = \"cdi\"",
                device, resource, what);
  return {};
}

// CDI's convention is "cdi.k8s.io/<plugin>_<unique suffix>". The suffix is a hash, because a container may use several
// resources and the name part of an annotation has 63 characters at most.
std::string annotation_key(const std::string& resource) {
  return fmt::format("cdi.k8s.io/cardcage_{:x}", std::hash<std::string>{}(resource));
}

}  // namespace

Result<ContainerGrant> container_grant(const std::string& resource, Delivery delivery,
                                       const std::vector<std::shared_ptr<const ClaimRecord>>& held) {
  std::vector<DeviceEdits> devices;
  for (const auto& record : held) std::ranges::move(device_edits(*record), std::back_inserter(devices));
  if (auto fits = check_combination(devices); !fits) return within(fits.error(), "resource '{}'", resource);
  ContainerGrant grant;
  std::vector<std::string> names;
  for (const auto& record : held) {
    const CdiSpec spec = cdi_spec(*record);
    for (const CdiDevice& device : spec.devices) {
      names.push_back(cdi_qualified_name({Api::kDevicePlugin, resource}, device.name));
      if (delivery != Delivery::kDirect) continue;
      // The kubelet drops later duplicates: variables by key, device nodes and mounts by path.
      for (const Edits* edits : {&spec.edits, &device.edits}) {
        if (auto fits = check_direct(resource, *edits, device.name); !fits) return std::unexpected(fits.error());
        merge(grant.edits, *edits);
      }
    }
  }
  for (EnvVar& joined : joined_lists(std::move(devices))) grant.edits.env.push_back(std::move(joined));
  if (delivery == Delivery::kCdi) grant.cdi_devices = std::move(names);
  if (delivery == Delivery::kCdiAnnotations)
    grant.annotations[annotation_key(resource)] = fmt::format("{}", fmt::join(names, ","));
  return grant;
}

}  // namespace cardcage
