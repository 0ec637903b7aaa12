#include "host/claim/claim_plan.h"

#include <algorithm>
#include <set>

#include "host/cdi/names.h"
#include "host/claim/config_resolution.h"

namespace cardcage {
namespace {

Status check_claim(const ClaimRef& ref, const Claim& claim) {
  if (claim.ref.uid != ref.uid)
    return fail(Code::kFailedPrecondition,
                "it was replaced: the pod was promised the claim with UID {} and this one has {}; delete the pod",
                ref.uid, claim.ref.uid);
  if (!claim.allocated)
    return fail(Code::kFailedPrecondition, "it is not allocated; the scheduler has to do that first");
  return {};
}

// Whether two claims may have the device at the same time: if one has admin access, which only observes, or if they
// consume different shares of its capacity.
bool may_share(const Allocation& a, const Allocation& b) {
  return a.admin_access || b.admin_access || (!a.share_id.empty() && !b.share_id.empty() && a.share_id != b.share_id);
}

// Compares the module's id, then the name in Kubernetes. Either alone is not enough: a reload may have moved the device
// to another driver or module, and a claim rebuilt from its CDI file has only the name.
bool same_device(const ClaimRecord& holder, const ModulePart& held_part, const HeldDevice& held,
                 const std::string& module, const HeldDevice& wanted) {
  if (held_part.module == module && held.device_id == wanted.device_id) return true;
  const Allocation &a = held.allocation, &b = wanted.allocation;
  return holder.driver == b.driver && a.device == b.device && (a.pool.empty() || a.pool == b.pool);
}

// The scheduler should never allocate a device twice, but some releases did (kubernetes#136269, kubernetes#133602).
Status check_free(const ClaimRef& ref, const std::string& driver, const std::string& module, const HeldDevice& wanted,
                  const Ledger& ledger) {
  const Allocation& allocation = wanted.allocation;
  for (const auto& holder : ledger.holders(module, wanted.device_id, driver, allocation.device)) {
    if (holder->key() == ClaimKey{driver, ref.uid}) continue;
    for (const ModulePart& part : holder->parts)
      for (const HeldDevice& held : part.devices)
        if (same_device(*holder, part, held, module, wanted) && !may_share(held.allocation, allocation))
          return fail(Code::kAlreadyExists,
                      "device '{}' of pool '{}' is {} for claim {} (UID {}); "
                      "delete the pod of one of the two, or if that claim's pod is gone for good, "
                      "unprepare it with cagectl",
                      allocation.device, allocation.pool, to_string(holder->phase), claim_label(holder->ref),
                      holder->ref.uid);
  }
  return {};
}

Status check_once(const ModulePart& part, const HeldDevice& wanted) {
  for (const HeldDevice& other : part.devices)
    if (other.device_id == wanted.device_id && !may_share(other.allocation, wanted.allocation))
      return fail(Code::kFailedPrecondition,
                  "device '{}' of pool '{}' is allocated twice in it; delete the claim, the scheduler made an error",
                  wanted.allocation.device, wanted.allocation.pool);
  return {};
}

// A claim may name a device twice, for administration, and devices of the same name in two pools. Their CDI names
// differ.
std::string unique_cdi_name(const std::string& uid, const Allocation& allocation, std::set<std::string>& taken) {
  const std::string first = cdi_device_name(uid, allocation.device, allocation.share_id);
  std::string name = first;
  for (int n = 2; !taken.insert(name).second; ++n) name = fmt::format("{}_{}", first, n);
  return name;
}

Status resolve(std::vector<ModulePart>& parts, const std::vector<std::shared_ptr<Module>>& modules,
               const std::vector<OpaqueConfig>& configs, const std::string& driver) {
  std::vector<ConfigTarget> targets;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ConfigTarget& target = targets.emplace_back(ConfigTarget{&modules[i]->identity(), {}});
    for (const HeldDevice& device : parts[i].devices) target.requests.push_back(device.allocation.request);
  }
  auto resolved = resolve_configs(configs, driver, targets);
  if (!resolved) return std::unexpected(resolved.error());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].params = std::move((*resolved)[i].params);
    for (std::size_t d = 0; d < parts[i].devices.size(); ++d)
      parts[i].devices[d].values = std::move((*resolved)[i].values[d]);
  }
  return {};
}

std::unexpected<Error> cannot_read(Error error) {
  const bool later = error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded;
  error.message =
      fmt::format("cannot read it: {}{}", error.message, later ? "; the kubelet tries again by itself" : "");
  return std::unexpected(std::move(error));
}

struct ClusterPlanner {
  std::string driver;
  Cluster& cluster;
  const DeviceDirectory& devices;
  const Ledger& ledger;
  Clock& clock;

  Task<Result<ClaimRecord>> operator()(const ClaimRef& ref, std::string& waits_for, Instant deadline) const {
    waits_for = "its ResourceClaim";
    const Result<Claim> claim = co_await cluster.get_claim(ref.name_space, ref.name, deadline);
    if (!claim) co_return cannot_read(claim.error());
    waits_for = "the start of its modules";
    co_await devices.started(driver, deadline);
    co_return plan_claim(driver, ref, *claim, devices, ledger, clock.wall());
  }
};

}  // namespace

ClaimPlanner plan_from_cluster(std::string driver, Cluster& cluster, const DeviceDirectory& devices,
                               const Ledger& ledger, Clock& clock) {
  return ClusterPlanner{std::move(driver), cluster, devices, ledger, clock};
}

Result<ClaimRecord> plan_claim(const std::string& driver, const ClaimRef& ref, const Claim& claim,
                               const DeviceDirectory& devices, const Ledger& ledger, WallTime now) {
  if (auto good = check_claim(ref, claim); !good) return std::unexpected(good.error());
  ClaimRecord record{.driver = driver,
                     .ref = ref,
                     .phase = ClaimPhase::kPreparing,
                     .boot_id = ledger.boot_id(),
                     .begun = now,
                     .prepared = {},
                     .parts = {}};
  std::vector<std::shared_ptr<Module>> modules;  // of each part
  std::set<std::string> cdi_names;
  for (const Allocation& allocation : claim.allocations) {
    if (allocation.driver != driver) continue;
    auto located = offered(devices.locate(driver, allocation.pool, allocation.device));
    if (!located) return within(located.error(), "device '{}' of pool '{}'", allocation.device, allocation.pool);
    HeldDevice device{.allocation = allocation,
                      .device_id = located->device.id,
                      .cdi_name = unique_cdi_name(ref.uid, allocation, cdi_names),
                      .values = {},
                      .edits = {}};
    if (!is_cdi_device_name(device.cdi_name))
      return fail(Code::kInvalidArgument, "device '{}' with share '{}' has no valid CDI name", allocation.device,
                  allocation.share_id);
    auto part = std::ranges::find(record.parts, located->module_name, &ModulePart::module);
    if (part == record.parts.end()) {
      part = record.parts.emplace(record.parts.end());
      part->module = located->module_name;
      modules.push_back(located->module);
    }
    if (auto once = check_once(*part, device); !once) return std::unexpected(once.error());
    if (auto free = check_free(ref, driver, part->module, device, ledger); !free) return std::unexpected(free.error());
    part->devices.push_back(std::move(device));
  }
  if (record.parts.empty())
    return fail(Code::kNotFound, "none of its devices is of driver '{}'; another driver has to prepare it", driver);
  if (auto resolved = resolve(record.parts, modules, claim.configs, driver); !resolved)
    return std::unexpected(resolved.error());
  return record;
}

}  // namespace cardcage
