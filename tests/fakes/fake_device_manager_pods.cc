// The device manager's operations for pods: selection, allocation, start, checkpoint.
#include <fmt/ranges.h>

#include <algorithm>

#include "host/core/file.h"
#include "host/kubelet/clients.h"
#include "host/rpc/status.h"
#include "tests/fakes/fake_device_manager.h"

namespace cardcage {

namespace plugin = api::device_plugin;
using std::chrono::milliseconds, std::chrono::seconds;

std::shared_ptr<FakeDeviceManager::Client> FakeDeviceManager::client_of(const std::string& resource) const {
  const std::lock_guard lock(mutex_);
  const auto found = endpoints_.find(resource);
  return found == endpoints_.end() || found->second->stopped ? nullptr : found->second;
}

std::vector<std::string> FakeDeviceManager::free_devices(const std::string& resource,
                                                         const std::vector<std::string>& reusable) const {
  const std::lock_guard lock(mutex_);
  std::set<std::string> held;
  for (const auto& [key, holding] : holdings_)
    if (std::get<2>(key) == resource) held.insert(holding.ids.begin(), holding.ids.end());
  for (const std::string& id : reusable) held.erase(id);
  std::vector<std::string> free;
  const auto found = resources_.find(resource);
  if (found == resources_.end()) return free;
  std::ranges::set_difference(found->second.healthy, held, std::back_inserter(free));
  return free;
}

Result<FakeDeviceManager::Grant> FakeDeviceManager::admit(const std::string& pod, const std::string& container,
                                                          const std::string& resource, std::size_t count,
                                                          const std::vector<std::string>& reusable) {
  const auto client = client_of(resource);
  if (!client) return fail(Code::kFailedPrecondition, "cannot allocate unregistered device {}", resource);
  const auto free = free_devices(resource, reusable);
  if (free.empty())
    return fail(Code::kFailedPrecondition, "no healthy devices present; cannot allocate unhealthy devices");
  if (free.size() < count)
    return fail(Code::kFailedPrecondition,
                "requested number of devices unavailable for {}. Requested: {}, Available: {}", resource, count,
                free.size());
  std::vector<std::string> chosen;
  for (const std::string& id : reusable)
    if (chosen.size() < count && std::ranges::find(free, id) != free.end()) chosen.push_back(id);
  if (client->options.get_preferred_allocation_available() && chosen.size() < count) {
    const auto best = preferred(resource, free, chosen, static_cast<int>(count));
    if (!best) return std::unexpected(best.error());
    for (const std::string& id : *best)
      if (chosen.size() < count && std::ranges::find(free, id) != free.end() &&
          std::ranges::find(chosen, id) == chosen.end())
        chosen.push_back(id);
  }
  for (const std::string& id : free)
    if (chosen.size() < count && std::ranges::find(chosen, id) == chosen.end()) chosen.push_back(id);
  auto granted = allocate(resource, chosen);
  if (!granted) return granted;
  const std::lock_guard lock(mutex_);
  holdings_[{pod, container, resource}] = *granted;
  write_checkpoint();
  return granted;
}

Result<FakeDeviceManager::Grant> FakeDeviceManager::start_container(const std::string& pod,
                                                                    const std::string& container,
                                                                    const std::string& resource) {
  Grant kept;
  {
    const std::lock_guard lock(mutex_);
    const auto found = holdings_.find({pod, container, resource});
    if (found == holdings_.end()) return fail(Code::kNotFound, "container {}/{} holds no {}", pod, container, resource);
    kept = found->second;
  }
  const auto client = client_of(resource);
  if (!client)
    return fail(Code::kFailedPrecondition, "endpoint not found in cache for a registered resource: {}", resource);
  if (client->options.pre_start_required())
    if (auto started = pre_start(resource, kept.ids); !started) return std::unexpected(started.error());
  return kept;
}

void FakeDeviceManager::remove_pod(const std::string& pod) {
  const std::lock_guard lock(mutex_);
  std::erase_if(holdings_, [&](const auto& entry) { return std::get<0>(entry.first) == pod; });
  write_checkpoint();
}

Result<std::vector<std::string>> FakeDeviceManager::preferred(const std::string& resource,
                                                              const std::vector<std::string>& available,
                                                              const std::vector<std::string>& required, int size) {
  const auto client = client_of(resource);
  if (!client) return fail(Code::kFailedPrecondition, "endpoint {} has been stopped", resource);
  plugin::PreferredAllocationRequest request;
  auto& container = *request.add_container_requests();
  for (const std::string& id : available) container.add_available_deviceids(id);
  for (const std::string& id : required) container.add_must_include_deviceids(id);
  container.set_allocation_size(size);
  plugin::PreferredAllocationResponse response;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + seconds(30));
  if (auto done = to_status(client->stub->GetPreferredAllocation(&context, request, &response)); !done)
    return std::unexpected(done.error());
  if (response.container_responses().empty()) return std::vector<std::string>();
  const auto& ids = response.container_responses(0).deviceids();
  return std::vector<std::string>(ids.begin(), ids.end());
}

Result<FakeDeviceManager::Grant> FakeDeviceManager::allocate(const std::string& resource,
                                                             const std::vector<std::string>& ids, milliseconds limit) {
  const auto client = client_of(resource);
  if (!client) return fail(Code::kFailedPrecondition, "endpoint {} has been stopped", resource);
  plugin::AllocateRequest request;
  auto& container = *request.add_container_requests();
  for (const std::string& id : ids) container.add_devices_ids(id);
  plugin::AllocateResponse response;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + limit);
  if (auto done = to_status(client->stub->Allocate(&context, request, &response)); !done)
    return std::unexpected(done.error());
  if (response.container_responses().empty())
    return fail(Code::kInternal, "no containers return in allocation response");
  return Grant{ids, response.container_responses(0)};
}

Status FakeDeviceManager::pre_start(const std::string& resource, const std::vector<std::string>& ids) {
  const auto client = client_of(resource);
  if (!client) return fail(Code::kFailedPrecondition, "endpoint {} has been stopped", resource);
  plugin::PreStartContainerRequest request;
  for (const std::string& id : ids) request.add_devices_ids(id);
  plugin::PreStartContainerResponse response;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + seconds(30));
  return to_status(client->stub->PreStartContainer(&context, request, &response));
}

// Writes kubelet_internal_checkpoint with a Checksum of 0; inotify reports IN_MOVED_TO. Needs the lock.
void FakeDeviceManager::write_checkpoint() {
  std::vector<std::string> pods, registered;
  for (const auto& [key, holding] : holdings_) {
    const auto& [pod, container, resource] = key;
    pods.push_back(fmt::format(
        R"({{"PodUID":"{}","ContainerName":"{}","ResourceName":"{}","DeviceIDs":{{"-1":["{}"]}},"AllocResp":""}})", pod,
        container, resource, fmt::join(holding.ids, R"(",")")));
  }
  for (const auto& [resource, sets] : resources_)
    registered.push_back(sets.healthy.empty()
                             ? fmt::format(R"("{}":null)", resource)
                             : fmt::format(R"("{}":["{}"])", resource, fmt::join(sets.healthy, R"(",")")));
  std::ignore = write_file_atomically(
      options_.folder / "kubelet_internal_checkpoint",
      fmt::format(R"({{"Data":{{"PodDeviceEntries":[{}],"RegisteredDevices":{{{}}}}},"Checksum":0}})",
                  fmt::join(pods, ","), fmt::join(registered, ",")),
      0600, false);
}

}  // namespace cardcage
