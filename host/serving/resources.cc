#include "host/serving/resources.h"

#include <algorithm>

#include "host/cdi/names.h"

namespace cardcage {
namespace {

// A module may take its time to scrub a device; nobody waits for it.
constexpr Duration kReleaseLimit = std::chrono::minutes(2);
// Of a resource that nobody would miss, or that registers in another way.
constexpr Duration kStopLimit = std::chrono::seconds(2);

bool is_over(const Resource& resource) {
  return resource.running() && (resource.configured() ? resource.outdated() : resource.idle());
}

}  // namespace

void Resources::configure(const std::set<std::string>& affected) {
  std::map<std::string, const ResourceConfig*> configured;
  for (const ModuleConfig& module : context_.config.modules)
    for (const ServeConfig& rule : module.serve)
      if (rule.api == Api::kDevicePlugin) configured[rule.resource] = &rule.plugin;
  for (const auto& [key, record] : context_.ledger.claims())
    if (is_resource(key.driver)) configured.try_emplace(key.driver, nullptr);
  for (const auto& [name, config] : configured) {
    auto& resource = resources_[name];
    if (!resource) resource = std::make_unique<Resource>(name, context_);
  }
  for (const auto& [name, resource] : resources_) {
    const auto config = configured.find(name);
    resource->configure(config == configured.end() ? nullptr : config->second);
    resource->set_deadlines(context_.config.deadlines);
    if (affected.contains(name)) resource->refresh_soon();
  }
}

void Resources::refresh(const Supervisor& supervisor) {
  for (const ServeConfig& rule : supervisor.config().serve)
    if (Resource* const resource = find(rule.resource)) resource->refresh_soon();
}

Task<void> Resources::tidy() {
  for (const auto& [name, resource] : resources_) {
    if (is_over(*resource)) co_await resource->stop(context_.clock.now() + kStopLimit);
    if (resource->configured() && !resource->running()) resource->start();
  }
}

bool Resources::untidy() const {
  return std::ranges::any_of(resources_, [](const auto& entry) {
    const Resource& resource = *entry.second;
    return resource.outdated() || resource.configured() != resource.running();
  });
}

Task<void> Resources::stop(Instant deadline) {
  for (const auto& [name, resource] : resources_) co_await resource->stop(deadline);
}

std::vector<const Resource*> Resources::all() const {
  std::vector<const Resource*> all;
  for (const auto& [name, resource] : resources_)
    if (resource->configured() || resource->running()) all.push_back(resource.get());
  return all;
}

Resource* Resources::find(const std::string& name) const {
  const auto entry = resources_.find(name);
  return entry == resources_.end() ? nullptr : entry->second.get();
}

std::vector<ServedResource> Resources::served() const {
  std::vector<ServedResource> all;
  for (const auto& [name, resource] : resources_) {
    ServedResource served{name, {}};
    const auto status = resource->server_status();
    if (status && status->registration.state == RegistrationState::kRegistered && status->streams > 0)
      for (const ListedDevice& device : *resource->list())
        if (device.healthy) served.healthy.push_back(device.id);
    all.push_back(std::move(served));
  }
  return all;
}

std::vector<HandedOutDevice> Resources::handed_out() const {
  std::vector<HandedOutDevice> all;
  for (const auto& [name, resource] : resources_)
    for (const HandedOutId& id : resource->allocator().handed_out())
      all.push_back({.device = {name, id.id}, .allocated = id.allocated, .allocating = id.busy, .seen = id.seen});
  return all;
}

void Resources::seen(const ResourceDevice& device, const PodContainer& holder) {
  if (Resource* const resource = find(device.resource)) resource->allocator().seen(device.id, holder);
}

Task<Status> Resources::release(HandedOutDevice device) {
  Resource* const resource = find(device.device.resource);
  if (!resource) co_return Status{};
  if (resource->allocator().allocated(device.device.id) > device.allocated)
    co_return fail(Code::kAborted, "device '{}' was handed out again", device.device.id);
  co_return co_await resource->allocator().release(device.device.id, context_.clock.now() + kReleaseLimit);
}

Task<Status> Resources::adopt(ResourceDevice device, PodContainer holder) {
  Resource* const resource = find(device.resource);
  if (!resource) co_return fail(Code::kNotFound, "resource '{}' is not configured", device.resource);
  co_return co_await resource->allocator().adopt(device.id, std::move(holder), context_.clock.now() + kReleaseLimit);
}

void Resources::lost(const std::string& name) {
  if (Resource* const resource = find(name)) resource->reregister();
}

void Resources::resend(const std::string& name) {
  if (Resource* const resource = find(name)) resource->resend();
}

}  // namespace cardcage
