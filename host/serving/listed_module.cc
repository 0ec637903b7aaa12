#include "host/serving/listed_module.h"

#include <algorithm>
#include <utility>

#include "host/config/resource_pattern.h"
#include "host/core/log.h"
#include "host/serving/operator_attributes.h"
#include "host/serving/select.h"
#include "host/serving/topology.h"

namespace cardcage {

HeldDevice held_device(const ServedDevice& served) {
  return {.allocation = {.driver = served.served.name, .pool = served.pool, .device = served.device.name},
          .device_id = served.device.id};
}

std::string pool_of(const ServeConfig& rule, const std::string& node_name) {
  return rule.api == Api::kDevicePlugin ? "" : rule.pool.empty() ? node_name : rule.pool;
}

ListedModule::ListedModule(const Supervisor& supervisor, const std::set<std::string>& held) : supervisor_(&supervisor) {
  expect(held);
}

// Guesses the rule that gave each name, which only the name's device could tell: the rule with the longest literal
// text.
void ListedModule::expect(const std::set<std::string>& names) {
  for (const std::string& name : names) {
    const ServeConfig* likely = nullptr;
    for (const ServeConfig& rule : supervisor_->config().serve)
      if (can_give(rule.resource, name) &&
          (likely == nullptr || literal_size(rule.resource) > literal_size(likely->resource)))
        likely = &rule;
    if (likely != nullptr && has_attributes(likely->resource)) expected_[likely->resource].insert(name);
  }
}

void ListedModule::update(const NodeConfig& node) {
  snapshot_ = supervisor_->snapshot();
  devices_.clear();
  Topology topology(node.roots.sysfs, node.numa_attribute);
  if (snapshot_) {
    devices_.reserve(snapshot_->devices.size());
    for (const Device& device : snapshot_->devices) {
      ServedDevice& served = devices_.emplace_back(ServedDevice{supervisor_, device, {}, ""});
      topology.add_to(served.device);
      add_operator_attributes(supervisor_->config().attributes, served.device);
    }
  }
  apply_rules(node.name);
}

void ListedModule::apply_rules(const std::string& node_name) {
  const auto& rules = supervisor_->config().serve;
  for (Names* names : {&given_, &expected_})
    std::erase_if(*names, [&](const auto& known) {
      return std::ranges::find(rules, known.first, &ServeConfig::resource) == rules.end();
    });
  for (ServedDevice& served : devices_) {
    const auto rule = std::ranges::find_if(
        rules, [&](const ServeConfig& candidate) { return matches(candidate.select, served.device); });
    served.served = rule == rules.end() ? ServedName{} : name_from(*rule, served.device);
    served.pool = rule == rules.end() ? "" : pool_of(*rule, node_name);
  }
  for (const auto& [pattern, names] : given_)
    for (auto& [other, expected] : expected_)
      std::erase_if(expected, [&](const std::string& name) { return names.contains(name); });
}

ServedName ListedModule::name_from(const ServeConfig& rule, const Device& device) {
  if (!has_attributes(rule.resource)) return rule.served();
  std::set<std::string>& given = given_[rule.resource];
  auto found = resource_name(rule.resource, device);
  if (found && given.size() >= kMaxNames && !given.contains(*found))
    found = fail(Code::kResourceExhausted, "'{}' would be one name more than the {} that a rule may give", *found,
                 kMaxNames);
  if (found) {
    given.insert(*found);
    return {Api::kDevicePlugin, *std::move(found)};
  }
  log_limited(
      LogLevel::kWarn, name() + "/no-name", "device is not served: its rule gives it no resource name",
      {{"module", name()}, {"device", device.id}, {"resource", rule.resource}, {"error", found.error().message}});
  return {};
}

const ServedDevice* ListedModule::find(std::string_view device_id) const {
  const auto id_of = [](const ServedDevice& served) -> std::string_view { return served.device.id; };
  const auto found = std::ranges::lower_bound(devices_, device_id, {}, id_of);
  return found == devices_.end() || found->device.id != device_id ? nullptr : &*found;
}

std::set<std::string> ListedModule::names(const ServeConfig& rule) const {
  std::set<std::string> names;
  for (const Names* known : {&given_, &expected_})
    if (const auto its = known->find(rule.resource); its != known->end())
      names.insert(its->second.begin(), its->second.end());
  return names;
}

bool ListedModule::serves(const ServedName& name) const {
  return std::ranges::any_of(supervisor_->config().serve, [&](const ServeConfig& rule) {
    if (!has_attributes(rule.resource)) return rule.served() == name;
    const auto has = [&](const Names& names) {
      const auto its = names.find(rule.resource);
      return its != names.end() && its->second.contains(name.name);
    };
    return name.is_resource() && (has(given_) || has(expected_));
  });
}

const Supervisor* first_that_serves(const std::vector<ListedModule>& modules, const ServedName& name) {
  const auto module = std::ranges::find_if(modules, [&](const ListedModule& one) { return one.serves(name); });
  return module == modules.end() ? nullptr : &module->supervisor();
}

}  // namespace cardcage
