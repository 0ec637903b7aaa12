#include "host/model/health.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <tuple>

#include "host/core/utf8.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxName = 64;
constexpr std::ptrdiff_t kMaxNamed = 3;

// An unknown state without a reason ranks last: most modules report none.
auto badness(const CauseHealth& cause) {
  const Health& health = cause.health;
  return std::tuple(severity(health.state), !health.reason.empty(), severity(advised_taint(health)));
}

std::string name_of(const Health& health) {
  const std::string& name = health.reason.empty() ? health.cause : health.reason;
  return name.empty() ? "without a reason" : cut_utf8(name, kMaxName);
}

// Joins the message of the first bad cause with the names of the others.
std::string joint_message(const std::vector<CauseHealth>& causes, std::ptrdiff_t bad) {
  const Health& worst = causes.front().health;
  std::vector<std::string> others;
  for (auto cause = causes.begin() + 1; cause != causes.begin() + std::min(bad, kMaxNamed + 1); ++cause)
    others.push_back(name_of(cause->health));
  if (bad > kMaxNamed + 1) others.emplace_back("...");
  const std::string more = fmt::format("; and {} more: {}", bad - 1, fmt::join(others, ", "));
  return cut_utf8(worst.message.empty() ? name_of(worst) : worst.message, kMaxHealthMessage - more.size()) + more;
}

int rank(KubeletHealth health) {
  switch (health) {
    case KubeletHealth::kHealthy: return 0;
    case KubeletHealth::kUnknown: return 1;
    case KubeletHealth::kUnhealthy: break;
  }
  return 2;
}

KubeletHealth worst_for_kubelet(const std::vector<CauseHealth>& causes) {
  KubeletHealth worst = KubeletHealth::kHealthy;
  for (const CauseHealth& cause : causes) {
    const KubeletHealth told = cause.kubelet.value_or(told_to_kubelet(cause.health.state));
    if (rank(told) > rank(worst)) worst = told;
  }
  return worst;
}

}  // namespace

DeviceHealth compose(std::vector<CauseHealth> causes) {
  if (causes.empty()) return {};
  if (!std::ranges::is_sorted(causes, std::ranges::greater(),
                              badness))  // most devices have one cause, and a sort allocates
    std::ranges::stable_sort(causes, std::ranges::greater(), badness);
  const KubeletHealth kubelet = worst_for_kubelet(causes);
  DeviceHealth device{causes.front().health, {}, std::move(causes), kubelet};
  const HealthState state = device.health.state;
  std::ptrdiff_t alike = 0;
  for (const CauseHealth& cause : device.causes) {
    if (cause.health.state != state) break;
    device.changed = std::max(device.changed, cause.changed);
    ++alike;
  }
  if (state == HealthState::kUnhealthy && alike > 1) device.health.message = joint_message(device.causes, alike);
  return device;
}

KubeletHealth told_to_kubelet(const DeviceHealth& device) {
  return device.kubelet.value_or(told_to_kubelet(device.health.state));
}

TaintEffect strongest_taint(const std::vector<CauseHealth>& causes) {
  TaintEffect strongest = TaintEffect::kNone;
  for (const CauseHealth& cause : causes)
    strongest = std::max(strongest, advised_taint(cause.health),
                         [](TaintEffect a, TaintEffect b) { return severity(a) < severity(b); });
  return strongest;
}

}  // namespace cardcage
