#include "host/model/request_policy.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

namespace cardcage {
namespace {

using Flaw = std::optional<std::string>;

constexpr std::int32_t kWhole = 0, kMilli = -3;
constexpr std::string_view kDefault = "default", kMin = "validRange.min", kMax = "validRange.max",
                           kStep = "validRange.step";

struct Place {
  std::string_view name;
  std::optional<Quantity> amount;
};

std::vector<Place> places_of(const RequestPolicy& policy) {
  std::vector<Place> places;
  for (const Place& place : {Place{kDefault, policy.default_amount}, Place{kMin, policy.min}, Place{kMax, policy.max},
                             Place{kStep, policy.step}})
    if (place.amount) places.push_back(place);
  return places;
}

Flaw negative_flaw(const RequestPolicy& policy) {
  std::vector<Place> places = places_of(policy);
  for (const Quantity& value : policy.values) places.push_back({"validValues", value});
  for (const auto& [name, amount] : places)
    if (*amount < Quantity{}) return fmt::format("{} {} is negative", name, amount->to_string());
  return std::nullopt;
}

Flaw values_flaw(const RequestPolicy& policy, const Quantity& capacity) {
  const std::vector<Quantity>& values = policy.values;
  if (values.size() > kMaxPolicyValues)
    return fmt::format("validValues has {} entries, at most {} are allowed", values.size(), kMaxPolicyValues);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > capacity)
      return fmt::format("validValues[{}] {} is more than the capacity of {}", i, values[i].to_string(),
                         capacity.to_string());
    if (i == 0 || values[i - 1] < values[i]) continue;
    return fmt::format("validValues[{}] {} follows {}: list each value once, in ascending order", i,
                       values[i].to_string(), values[i - 1].to_string());
  }
  if (std::ranges::find(values, *policy.default_amount) == values.end())
    return fmt::format("default {} is not one of validValues", policy.default_amount->to_string());
  return std::nullopt;
}

Flaw bounds_flaw(const RequestPolicy& policy, const Quantity& capacity) {
  const auto more = [](const Place& a, const Place& b) -> Flaw {
    if (!a.amount || !b.amount || *a.amount <= *b.amount) return std::nullopt;
    return fmt::format("{} {} is more than {} {}", a.name, a.amount->to_string(), b.name, b.amount->to_string());
  };
  const Place initial{kDefault, policy.default_amount}, min{kMin, policy.min}, max{kMax, policy.max},
      whole{"the capacity of", capacity};
  for (const auto& [a, b] : {std::pair(min, whole), std::pair(min, max), std::pair(max, whole), std::pair(min, initial),
                             std::pair(initial, max)})
    if (auto flaw = more(a, b)) return flaw;
  return std::nullopt;
}

// The scheduler counts steps in 64 bits; in thousandths if an amount is not whole.
Flaw step_flaw(const RequestPolicy& policy, const Quantity& capacity) {
  const std::vector<Place> places = places_of(policy);
  const bool whole = std::ranges::all_of(places, [](const Place& place) { return place.amount->is_whole(); });
  const std::int32_t unit = whole ? kWhole : kMilli;
  // Without a step whole amounts are only compared, so they may be of any size.
  if (whole && !policy.step) return std::nullopt;
  for (const auto& [name, amount] : places)
    if (!amount->in_units(unit))
      return whole ? fmt::format("{} {} is too large to count steps in 64 bits", name, amount->to_string())
                   : fmt::format(
                         "{} {} is not a multiple of 1m that fits in 64 bits: the range has amounts that are not "
                         "whole, so all are counted in thousandths",
                         name, amount->to_string());
  if (!policy.step) return std::nullopt;
  const std::int64_t step = *policy.step->in_units(unit), min = *policy.min->in_units(unit);
  if (step == 0) return "validRange.step is 0: leave it out if there are no steps";
  if (step > std::numeric_limits<std::int64_t>::max() - min || Quantity{min + step, unit} > capacity)
    return fmt::format("validRange.min {} and one step of {} are more than the capacity of {}", policy.min->to_string(),
                       policy.step->to_string(), capacity.to_string());
  for (const Place& place : {Place{kDefault, policy.default_amount}, Place{kMax, policy.max}})
    if (place.amount && (*place.amount->in_units(unit) - min) % step != 0)
      return fmt::format("{} {} is not validRange.min {} and a multiple of validRange.step {}", place.name,
                         place.amount->to_string(), policy.min->to_string(), policy.step->to_string());
  return std::nullopt;
}

Flaw policy_flaw(const RequestPolicy& policy, const Quantity& capacity) {
  if (!policy.default_amount) return "there is no default";
  if (!policy.min && (policy.max || policy.step)) return "a range needs validRange.min";
  if (!policy.values.empty() && policy.min) return "there are both validValues and validRange: choose one";
  if (auto flaw = negative_flaw(policy)) return flaw;
  if (!policy.values.empty()) return values_flaw(policy, capacity);
  if (!policy.min) return std::nullopt;
  if (auto flaw = bounds_flaw(policy, capacity)) return flaw;
  return step_flaw(policy, capacity);
}

}  // namespace

std::optional<std::string> flaw_of(const RequestPolicies& policies, const std::map<std::string, Quantity>& capacity,
                                   bool shared) {
  if (!policies.empty() && !shared)
    return fmt::format("capacity '{}' has a request policy, but the device is not shared", policies.begin()->first);
  for (const auto& [name, policy] : policies) {
    const auto whole = capacity.find(name);
    if (whole == capacity.end())
      return fmt::format("there is a request policy for capacity '{}', which the device lacks", name);
    if (const auto flaw = policy_flaw(policy, whole->second))
      return fmt::format("request policy of capacity '{}': {}", name, *flaw);
  }
  return std::nullopt;
}

bool needs_fractions(const RequestPolicy& policy) {
  // A server without fractions rounds each amount up to a whole number before it compares values and counts steps.
  const auto rounded = [](const Quantity& amount) { return amount.rounded_up(); };
  if (std::ranges::adjacent_find(policy.values, {}, rounded) != policy.values.end()) return true;
  if (!policy.min || !policy.step) return false;
  const std::int64_t min = *rounded(*policy.min).in_units(kWhole), step = *rounded(*policy.step).in_units(kWhole);
  const auto is_off = [&](const std::optional<Quantity>& amount) {
    return amount && (*rounded(*amount).in_units(kWhole) - min) % step != 0;
  };
  return is_off(policy.default_amount) || is_off(policy.max);
}

}  // namespace cardcage
