#include "host/view/driver_report.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace cardcage {
namespace {

// Returns what the slices leave out: how many devices and why the first one, or else fields of devices.
std::string omission_text(const PublisherStatus& published) {
  std::size_t count = 0;
  const WithheldDevice* first = nullptr;
  for (const auto& [name, pool] : published.pools) {
    count += pool.withheld.size();
    if (first == nullptr && !pool.withheld.empty()) first = &pool.withheld.front();
  }
  if (first != nullptr)
    return fmt::format("{} withheld; {}: {}", count == 1 ? "1 device is" : fmt::format("{} devices are", count),
                       first->name, first->reason);
  if (published.disabled_gates.empty()) return "";
  return fmt::format("the cluster does not take all fields of devices; enable its feature gates to publish them: {}",
                     fmt::join(published.disabled_gates, ", "));
}

Condition publication_condition(const DriverFacts& facts) {
  for (const auto& [name, pool] : facts.published.pools)
    if (!pool.rejection.empty()) return {Level::kBad, "failing", pool.rejection};
  if (!facts.published.last_error.empty()) return {Level::kBad, "failing", facts.published.last_error};
  if (facts.modules.empty())
    return facts.published.in_sync
               ? Condition{Level::kInProgress, "withdrawn", "it is no longer configured, and goes with its last claim"}
               : Condition{Level::kInProgress, "withdrawing", "it is no longer configured"};
  for (const auto& [pool, node] : facts.shared_pools)
    return {
        Level::kBad, "shared",
        fmt::format("node '{}' publishes slices of the same pool '{}', and the scheduler ignores those of one; give "
                    "each node its own: leave the key pool out, or write $NODE_NAME into it",
                    node, pool)};
  if (facts.published.in_sync) return {Level::kGood, "published", omission_text(facts.published)};
  return {Level::kInProgress, "pending", ""};
}

}  // namespace

DriverReport driver_report(const DriverFacts& facts) {
  DriverReport report{.name = facts.name,
                      .module = fmt::format("{}", fmt::join(facts.modules, ", ")),
                      .socket = facts.server ? facts.server->socket : ""};
  report.registration =
      registration_condition(facts.server, facts.server_error, "its modules have not listed a device yet");
  report.publication = publication_condition(facts);
  for (const auto& [name, pool] : facts.published.pools) {
    report.pool += (report.pool.empty() ? "" : ", ") + name;
    report.generation = std::max(report.generation, pool.generation);
    report.slices += static_cast<std::uint32_t>(pool.slices);
    report.devices += static_cast<std::uint32_t>(pool.devices);
  }
  return report;
}

}  // namespace cardcage
