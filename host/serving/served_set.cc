#include "host/serving/served_set.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "host/config/resource_pattern.h"

namespace cardcage {
namespace {

constexpr Duration kStopLimit = std::chrono::seconds(2);

}  // namespace

template <class Item>
void ServedSet<Item>::configure(const std::set<std::string>& affected) {
  std::map<std::string, const ServeConfig*> rules;
  for (const ModuleConfig& module : context_.config.modules)
    for (const ServeConfig& rule : module.serve)
      if (rule.api == Item::kApi)
        for (const std::string& name : context_.table.names(module.name, rule)) rules.try_emplace(name, &rule);
  std::map<std::string, const ServeConfig*> names = rules;
  for (const auto& [key, record] : context_.ledger.claims())
    if (const ServedName held = key.served(); held.api == Item::kApi) names.try_emplace(held.name, nullptr);
  for (const auto& [name, rule] : names) {
    auto& item = items_[name];
    if (!item) item = std::make_unique<Item>(ServedName{Item::kApi, name}, context_);
  }
  for (const auto& [name, item] : items_) {
    const auto rule = rules.find(name);
    item->configure(rule == rules.end() ? nullptr : rule->second);
    item->set_deadlines(context_.config.deadlines);
    if (std::ranges::any_of(affected, [&](const std::string& pattern) { return can_give(pattern, name); }))
      item->refresh_soon();
  }
}

template <class Item>
void ServedSet<Item>::refresh(const Supervisor& supervisor, SupervisorEvent event) {
  if (event == SupervisorEvent::kLabels) return;
  std::vector<std::set<std::string>> of_rules;
  for (const ServeConfig& rule : supervisor.config().serve)
    if (rule.api == Item::kApi) of_rules.push_back(context_.table.names(supervisor.wanted().name, rule));
  std::set<std::string> names;
  for (const auto& of_rule : of_rules) names.insert(of_rule.begin(), of_rule.end());
  const auto is_new = [this](const std::string& name) { return !find(name) || !find(name)->configured(); };
  auto& known = given_[supervisor.wanted().name];
  const bool changed = known != of_rules;  // another rule may now be the first to give a name
  known = std::move(of_rules);
  if (supervisor.draining().empty() && (changed || std::ranges::any_of(names, is_new))) configure({});
  // A name that is served only to release claims may have claims of any module.
  for (const auto& [name, item] : items_)
    if (names.contains(name) || !item->configured())
      event == SupervisorEvent::kHealthText ? item->refresh_texts() : item->refresh_soon();
}

template <class Item>
Task<void> ServedSet<Item>::tidy() {
  for (const auto& [name, item] : items_) {
    if (item->must_stop()) co_await item->stop(context_.clock.now() + kStopLimit);
    if (item->configured() && !item->running()) item->start();
  }
}

template <class Item>
bool ServedSet<Item>::untidy() const {
  return std::ranges::any_of(items_ | std::views::values, [](const auto& item) {
    return item->configured() != item->running() || item->must_stop();
  });
}

template <class Item>
Task<void> ServedSet<Item>::stop(Instant deadline) {
  for (const auto& [name, item] : items_) co_await item->stop(deadline);
}

template <class Item>
std::vector<const Item*> ServedSet<Item>::all() const {
  std::vector<const Item*> all;
  for (const auto& [name, item] : items_)
    if (item->configured() || item->running()) all.push_back(item.get());
  return all;
}

template <class Item>
Item* ServedSet<Item>::find(const std::string& name) const {
  const auto entry = items_.find(name);
  return entry == items_.end() ? nullptr : entry->second.get();
}

template class ServedSet<Driver>;
template class ServedSet<Resource>;

}  // namespace cardcage
