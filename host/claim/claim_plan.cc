#include "host/claim/claim_plan.h"

#include <algorithm>
#include <set>

#include "host/cdi/names.h"
#include "host/claim/config_resolution.h"
#include "host/claim/conflicts.h"

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

Status check_once(const ModulePart& part, const HeldDevice& wanted) {
  for (const HeldDevice& other : part.devices)
    if (other.device_id == wanted.device_id && !may_share(other.allocation, wanted.allocation))
      return fail(Code::kFailedPrecondition,
                  "device '{}' of pool '{}' is allocated twice in it; delete the claim, the scheduler made an error",
                  wanted.allocation.device, wanted.allocation.pool);
  return {};
}

// A claim may name a device twice, for administration, and may have devices of the same name in two pools. Their CDI
// names differ.
std::string unique_cdi_name(const std::string& uid, const Allocation& allocation, std::set<std::string>& taken) {
  const std::string first = cdi_device_name(uid, allocation.device, allocation.share_id);
  std::string name = first;
  for (int n = 2; !taken.insert(name).second; ++n) name = fmt::format("{}_{}", first, n);
  return name;
}

// Makes one target per part.
Status resolve(std::vector<ModulePart>& parts, const std::vector<ConfigTarget>& targets,
               const std::vector<OpaqueConfig>& configs, const std::string& driver) {
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

// Short, because the ledger knows the result of a repeated call well enough if the API server is away.
constexpr Duration kComparisonLimit = std::chrono::seconds(1);

struct ClusterPlanner {
  std::string driver;
  ClaimReader& claims;
  const DeviceDirectory& devices;
  const Ledger& ledger;
  Clock& clock;

  Task<Result<ClaimRecord>> plan(const ClaimRef& ref, std::string& waits_for, Instant deadline) const {
    waits_for = "its ResourceClaim";
    const Result<Claim> claim = co_await claims.read(ref, deadline);
    if (!claim) co_return cannot_read(claim.error());
    waits_for = "the start of its modules";
    co_await devices.started(driver, deadline);
    for (const Allocation& allocation : claim->allocations) {
      if (allocation.driver != driver) continue;
      const auto located = devices.locate(driver, allocation.pool, allocation.device);
      if (located) co_await devices.returned(located->module, deadline);
    }
    co_return plan_claim(driver, ref, *claim, devices, ledger, clock.wall());
  }

  // A claim may be allocated again while its pod is replaced and the kubelet is away.
  Task<bool> is_current(const ClaimRef& ref, const ClaimRecord& prepared, Instant deadline) const {
    const Instant limit = std::min(deadline, clock.now() + kComparisonLimit);
    const Result<Claim> claim = co_await claims.read(ref, limit);
    if (!claim) co_return true;
    co_return check_claim(ref, *claim) && same_devices(allocations_for(*claim, driver), allocations_of(prepared));
  }
};

}  // namespace

ClaimPlanner plan_from_cluster(std::string driver, ClaimReader& claims, const DeviceDirectory& devices,
                               const Ledger& ledger, Clock& clock) {
  const ClusterPlanner planner{std::move(driver), claims, devices, ledger, clock};
  return {.plan = [planner](const ClaimRef& ref, std::string& waits_for,
                            Instant deadline) { return planner.plan(ref, waits_for, deadline); },
          .is_current = [planner](const ClaimRef& ref, const ClaimRecord& prepared,
                                  Instant deadline) { return planner.is_current(ref, prepared, deadline); }};
}

bool same_devices(const std::vector<Allocation>& a, const std::vector<Allocation>& b) {
  const auto same = [](const Allocation& x, const Allocation& y) {
    return x.device == y.device && x.share_id == y.share_id && (x.pool.empty() || y.pool.empty() || x.pool == y.pool);
  };
  return std::ranges::is_permutation(a, b, same);
}

std::vector<Allocation> allocations_of(const ClaimRecord& record) {
  std::vector<Allocation> allocations;
  for (const ModulePart& part : record.parts)
    for (const HeldDevice& device : part.devices) allocations.push_back(device.allocation);
  return allocations;
}

std::vector<Allocation> allocations_for(const Claim& claim, const std::string& driver) {
  std::vector<Allocation> allocations = claim.allocations;
  std::erase_if(allocations, [&](const Allocation& allocation) { return allocation.driver != driver; });
  return allocations;
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
                     .parts = {},
                     .pod_claim_name = claim.pod_claim_name,
                     .pods = claim.reserved_for};
  std::vector<std::shared_ptr<Module>> modules;  // one per part
  std::vector<ConfigTarget> targets;             // one per part
  std::set<std::string> cdi_names;
  for (const Allocation& allocation : claim.allocations) {
    if (allocation.driver != driver) continue;
    const auto located = offered(devices.locate(driver, allocation.pool, allocation.device));
    if (!located) return within(located.error(), "device '{}' of pool '{}'", allocation.device, allocation.pool);
    HeldDevice device{.allocation = allocation,
                      .device_id = located->device.id,
                      .cdi_name = unique_cdi_name(ref.uid, allocation, cdi_names),
                      .values = {},
                      .edits = {}};
    if (!is_cdi_device_name(device.cdi_name))
      return fail(Code::kInvalidArgument, "device '{}' with share '{}' has no valid CDI name", allocation.device,
                  allocation.share_id);
    auto part = std::ranges::find(record.parts, located->module, &ModulePart::module);
    if (part == record.parts.end()) {
      auto module = devices.module(located->module);
      if (!module) return within(module.error(), "device '{}' of pool '{}'", allocation.device, allocation.pool);
      part = record.parts.emplace(record.parts.end());
      part->module = located->module;
      targets.push_back({&(*module)->identity(), {}});
      modules.push_back(*std::move(module));
    }
    if (auto once = check_once(*part, device); !once) return std::unexpected(once.error());
    part->devices.push_back(std::move(device));
    targets[static_cast<std::size_t>(part - record.parts.begin())].devices.push_back(
        {allocation.request, located->device.kind});
  }
  if (record.parts.empty())
    return fail(Code::kNotFound, "none of its devices is of driver '{}'; another driver has to prepare it", driver);
  if (auto resolved = resolve(record.parts, targets, claim.configs, driver); !resolved)
    return std::unexpected(resolved.error());
  return record;
}

}  // namespace cardcage
