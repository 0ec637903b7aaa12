#include "host/slices/wanted_pools.h"

#include <algorithm>
#include <utility>

namespace cardcage {
namespace {

using namespace std::chrono_literals;

// A policy or a webhook may temporarily reject a valid pool, and a later release of the server may accept more.
constexpr Duration kFirstRejected = 1s, kLongestRejected = 5min;

}  // namespace

void WantedPools::set(Contents contents) {
  std::map<std::string, Pool> next;
  for (auto& [name, content] : contents) {
    Pool& pool = next[name];
    const auto old = pools_.find(name);
    if (old != pools_.end() && old->second.content == content) pool = old->second;
    pool.placement = old == pools_.end() ? first_ : old->second.placement;
    pool.content = std::move(content);
  }
  pools_ = std::move(next);
}

PoolContentPtr WantedPools::content(const std::string& pool) const {
  const auto found = pools_.find(pool);
  return found == pools_.end() ? nullptr : found->second.content;
}

bool WantedPools::all_known() const {
  return std::ranges::all_of(pools_, [](const auto& pool) { return pool.second.content != nullptr; });
}

bool WantedPools::skip_calls() const {
  const auto skips = [](const auto& pool) { return pool.second.content && pool.second.content->no_prepare; };
  return std::ranges::any_of(pools_, skips);
}

// The feature gates decide what can be published.
void WantedPools::reset_views() {
  for (auto& [name, pool] : pools_) pool.view.reset();
}

bool WantedPools::make_views() {
  bool made = false;
  for (auto& [name, pool] : pools_) {
    if (pool.view || !pool.content) continue;
    pool.view = view_pool(pool.content, pool.placement, gates_);
    made = true;
  }
  return made;
}

WantedPools::Plans WantedPools::plan(const SliceOwner& owner, StoredSlices stored, Instant now) {
  make_views();  // the list may have shown which fields the server keeps
  Plans plans;
  for (auto& [name, pool] : pools_) {
    if (!pool.content) {
      stored.erase(name);
      continue;
    }
    SlicePlan plan = plan_slices(owner, name, *pool.view, stored[name]);
    const auto generation = plan.generation;
    const auto slices = plan.slices;
    if (plan.empty()) {
      pool.rejected_until = Instant::min();
      pool.rejections.reset();
      pool.rejection.clear();
    } else if (now < pool.rejected_until) {
      plans.retry = std::min(plans.retry, pool.rejected_until);
    } else {
      plans.needed[name] = std::move(plan);
    }
    plans.pools[name] = {generation, slices, pool.view->devices.size(), pool.view->withheld, pool.rejection};
    stored.erase(name);
  }
  for (const auto& [name, slices] : stored)
    for (const Slice* slice : slices) plans.needed[name].deletes.push_back(*slice);
  return plans;
}

bool WantedPools::is_retry(const std::map<std::string, SlicePlan>& plans) const {
  return std::ranges::any_of(plans, [this](const auto& plan) {
    const auto pool = pools_.find(plan.first);
    return pool != pools_.end() && pool->second.rejections;
  });
}

WantedPools::Refusal WantedPools::reject(const std::string& name, const std::string& why, Instant now) {
  Pool& pool = pools_.at(name);
  if (pool.view && gates_.suspect(*pool.view)) {
    reset_views();
    return {.other_form = true};
  }
  if (pool.view && !pool.view->counters.empty() && !pool.tried_both_placements) {
    // The server's release decides whether counters are stored beside their consumers.
    const bool separate = pool.placement == CounterPlacement::kSeparate;
    pool.placement = separate ? CounterPlacement::kCombined : CounterPlacement::kSeparate;
    pool.tried_both_placements = true;
    pool.view.reset();
    return {.other_form = true};
  }
  pool.tried_both_placements = false;
  const bool absolved = gates_.absolve();
  if (absolved) reset_views();
  if (!pool.rejections) pool.rejections.emplace(kFirstRejected, kLongestRejected, seed_);
  pool.rejected_until = now + pool.rejections->next();
  return {.other_form = absolved, .put_aside = true, .is_new = std::exchange(pool.rejection, why) != why};
}

}  // namespace cardcage
