#include "host/serving/resources.h"

#include <algorithm>
#include <iterator>

namespace cardcage {
namespace {

// A module may take long to scrub a device; no caller waits for it.
constexpr Duration kReleaseLimit = std::chrono::minutes(2);

}  // namespace

std::vector<ServedResource> Resources::served() const {
  std::vector<ServedResource> all;
  for (const auto& [name, resource] : items()) {
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
  for (const auto& [name, resource] : items())
    std::ranges::move(resource->allocator().handed_out(), std::back_inserter(all));
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
  co_return co_await resource->allocator().release(device.device.id, context().clock.now() + kReleaseLimit);
}

Task<Status> Resources::adopt(ResourceDevice device, PodContainer holder) {
  Resource* const resource = find(device.resource);
  if (!resource) co_return fail(Code::kNotFound, "resource '{}' is not configured", device.resource);
  co_return co_await resource->allocator().adopt(device.id, std::move(holder), context().clock.now() + kReleaseLimit);
}

void Resources::lost(const std::string& name) {
  if (Resource* const resource = find(name)) resource->reregister();
}

void Resources::resend(const std::string& name) {
  if (Resource* const resource = find(name)) resource->resend();
}

}  // namespace cardcage
