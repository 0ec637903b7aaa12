#include "host/claim/resource_allocator.h"

#include <algorithm>
#include <set>

#include "host/claim/conflicts.h"
#include "host/claim/device_plan.h"
#include "host/claim/grant.h"
#include "host/core/log.h"
#include "host/core/subject.h"

namespace cardcage {
namespace {

// The kubelet allocates for the containers of a pod one right after the other, before it starts any of them.
constexpr Duration kSamePod = std::chrono::seconds(1);
// A UID has 63 characters at most, and a hash of 16 with a dash follows the stem.
constexpr std::size_t kLongestStem = 46;
constexpr Duration kFirstRest = std::chrono::seconds(10), kLongestRest = std::chrono::minutes(5);

// The record of a resource has one device.
HeldDevice* the_device(ClaimRecord& record) {
  return record.parts.empty() || record.parts.front().devices.empty() ? nullptr : &record.parts.front().devices.front();
}
const HeldDevice* the_device(const ClaimRecord& record) { return the_device(const_cast<ClaimRecord&>(record)); }

}  // namespace

std::string device_id_of(const std::string& id, bool replicated) {
  return replicated ? id.substr(0, id.rfind("::")) : id;
}

ResourceAllocator::ResourceAllocator(std::string resource, ResourceConfig config, ClaimEnvironment environment,
                                     std::function<void()> changed)
    : resource_(std::move(resource)),
      config_(config),
      environment_(std::move(environment)),
      changed_(std::move(changed)),
      preparer_(ClaimPreparer::create(resource_,
                                      {.plan =
                                           [this](const ClaimRef& ref, std::string& waits_for, Instant deadline) {
                                             waits_for = "the start of its module";
                                             return plan(ref.uid, deadline);
                                           }},
                                      environment_)) {}

Task<Result<ClaimRecord>> ResourceAllocator::plan(std::string uid, Instant deadline) const {
  co_await environment_.devices.started(resource_, deadline);
  const auto device_id = planned_id(uid);
  if (!device_id) co_return std::unexpected(device_id.error());
  if (const auto located = environment_.devices.locate_id(resource_, *device_id))
    co_await environment_.devices.returned(located->module, deadline);
  co_return plan_device(resource_, uid, *device_id, environment_.devices, environment_.ledger,
                        environment_.clock.wall());
}

// The id is the promise: a device that was handed out stays the same one, even if its name changes.
Result<std::string> ResourceAllocator::planned_id(const std::string& uid) const {
  const auto known = environment_.ledger.find({resource_, uid});
  if (const HeldDevice* const device = known ? the_device(*known) : nullptr; device && !device->device_id.empty())
    return device->device_id;
  if (const auto call = handing_out_.find(uid); call != handing_out_.end())
    return device_id_of(call->second, config_.replicas > 1);
  auto located = environment_.devices.locate(resource_, "", uid);  // the record was rebuilt from its CDI file
  if (!located) return std::unexpected(located.error());
  return located->device.id;
}

std::shared_ptr<const ClaimRecord> ResourceAllocator::record_for(const std::string& module,
                                                                 const Device& device) const {
  const HeldDevice wanted{.allocation = {.driver = resource_, .device = device.name}, .device_id = device.id};
  for (auto& record : claims_holding(module, wanted, environment_.ledger))
    if (record->driver == resource_) return std::move(record);
  return nullptr;
}

// The UID of the device's record, which the CDI name is made from. After a reboot another device, which a pod has, may
// have a record under the name.
std::string ResourceAllocator::uid_for(const std::string& module, const Device& device) const {
  if (const auto record = record_for(module, device)) return record->ref.uid;
  if (!environment_.ledger.find({resource_, device.name})) return device.name;
  return fmt::format("{}-{:x}", device.name.substr(0, kLongestStem), std::hash<std::string>{}(device.id));
}

Result<LocatedDevice> ResourceAllocator::locate(const std::string& id) const {
  auto located = environment_.devices.locate_id(resource_, device_id_of(id, config_.replicas > 1));
  if (!located) return within(located.error(), "device '{}' of resource '{}'", id, resource_);
  return located;
}

// -- allocate --------------------------------------------------------------------------------------------------------

Status ResourceAllocator::check_request(const std::vector<std::string>& ids) const {
  if (ids.empty()) return fail(Code::kInvalidArgument, "the request names no device of resource '{}'", resource_);
  if (config_.fail_requests_greater_than_one && std::set(ids.begin(), ids.end()).size() > 1)
    return fail(Code::kInvalidArgument,
                "the container asks for {} of resource '{}', "
                "but more than 1 gives it no larger part of the shared device; write 1 in its limits",
                ids.size(), resource_);
  return {};
}

Task<Result<ContainerGrant>> ResourceAllocator::allocate(std::vector<std::string> ids, Instant deadline) {
  if (auto good = check_request(ids); !good) co_return std::unexpected(good.error());
  std::map<std::string, std::vector<std::string>> wanted;  // ids by the UID of the device's record
  for (const std::string& id : ids) {
    const auto located = locate(id);
    if (!located) co_return std::unexpected(located.error());
    wanted[uid_for(located->module, located->device)].push_back(id);
  }
  std::vector<std::string> uids;
  std::vector<OneShot<Status>> handed_out;
  for (const auto& [uid, its_ids] : wanted) {
    uids.push_back(uid);
    const auto& done = handed_out.emplace_back(environment_.core);
    spawn(environment_.core, hand_out(uid, its_ids, deadline, done));
  }
  Status result;
  for (const OneShot<Status>& done : handed_out) {
    const Status one = co_await done.wait();
    if (!one && result) result = one;
  }
  if (!result) co_return std::unexpected(result.error());
  co_return grant(uids);
}

ResourceAllocator::HandingOut::HandingOut(ResourceAllocator& allocator, std::string uid, std::vector<std::string> ids)
    : allocator_(allocator), uid_(std::move(uid)), ids_(std::move(ids)) {
  for (const std::string& id : ids_) allocator_.handing_out_.emplace(uid_, id);
}

ResourceAllocator::HandingOut::~HandingOut() {
  for (const std::string& id : ids_) {
    const auto [begin, end] = allocator_.handing_out_.equal_range(uid_);
    allocator_.handing_out_.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second == id; }));
  }
}

Task<void> ResourceAllocator::hand_out(std::string uid, std::vector<std::string> ids, Instant deadline,
                                       OneShot<Status> done) {
  std::optional<HandingOut> handing_out(std::in_place, *this, uid, ids);
  const Status prepared = co_await prepare(uid, ids, deadline);
  handing_out.reset();
  for (const std::string& id : ids) allocated_[id] = environment_.clock.now();
  // The list does not say which ids are handed out, and making it is the most expensive step here: only a pause after a
  // failure changes it.
  const std::string device_id = device_id_of(ids.front(), config_.replicas > 1);
  if (!prepared) rest(device_id, prepared.error());
  if (!prepared || resting_.erase(device_id) > 0) changed_();
  done.set(prepared);
}

Task<Status> ResourceAllocator::prepare(const std::string& uid, const std::vector<std::string>& ids, Instant deadline) {
  const ClaimRef ref{"", "", uid};
  const auto left_by_an_earlier_pod = [&] {
    const auto known = environment_.ledger.find({resource_, uid});
    return known && !others_need(uid, ids) &&
           std::ranges::any_of(holders_of(*known), [&](const Holder& holder) { return !may_be_same_pod(holder); });
  };
  if (left_by_an_earlier_pod()) {
    const TurnCheck check = [&] {
      return left_by_an_earlier_pod() ? Status{} : fail(Code::kAborted, "it is in use again");
    };
    const Status released = co_await preparer_->unprepare_if(check, ref, deadline);
    if (!released && left_by_an_earlier_pod())
      co_return within(released.error(), "cannot clean up after an earlier pod");
  }
  auto prepared = co_await preparer_->prepare(ref, deadline);
  if (!prepared) co_return std::unexpected(prepared.error());
  const PodContainer not_known_yet;
  co_return add_holders(uid, ids, not_known_yet);
}

// True if a replica of the device besides `ids` is handed out or being handed out.
bool ResourceAllocator::others_need(const std::string& uid, const std::vector<std::string>& ids) const {
  const auto other = [&](const std::string& id) { return std::ranges::find(ids, id) == ids.end(); };
  const auto [begin, end] = handing_out_.equal_range(uid);
  const auto known = environment_.ledger.find({resource_, uid});
  return std::any_of(begin, end, [&](const auto& entry) { return other(entry.second); }) ||
         (known && std::ranges::any_of(holders_of(*known), other, &Holder::id));
}

bool ResourceAllocator::may_be_same_pod(const Holder& holder) const {
  const auto before = allocated_.find(holder.id);
  return holder.pod.empty() && before != allocated_.end() && environment_.clock.now() - before->second < kSamePod;
}

// Stores the new holders of the ids in place of their earlier ones. No caller waits for the disk: if the note is lost,
// the kubelet tells the holders again.
Status ResourceAllocator::add_holders(const std::string& uid, const std::vector<std::string>& ids,
                                      const PodContainer& pod) {
  const auto known = environment_.ledger.find({resource_, uid});
  ClaimRecord record = known ? *known : ClaimRecord{};
  HeldDevice* const device = the_device(record);
  if (!device) return fail(Code::kAborted, "device '{}' was released meanwhile", uid);
  const WallTime now = environment_.clock.wall();
  std::vector<HistoryEntry> left;
  for (const std::string& id : ids) {
    const auto holder = std::ranges::find(device->holders, id, &Holder::id);
    if (holder != device->holders.end()) {
      if (may_be_same_pod(*holder)) continue;
      left.push_back(history_entry(record, record.parts.front(), *device, *holder, now));
      device->holders.erase(holder);
    }
    device->holders.push_back({id, pod.name_space, pod.pod, pod.container, now});
  }
  if (record != *known) environment_.ledger.note(std::move(record), std::move(left));
  return {};
}

void ResourceAllocator::rest(const std::string& device_id, const Error& why) {
  Rest& entry = resting_
                    .try_emplace(device_id, Rest{Backoff(kFirstRest, kLongestRest, device_id),
                                                 {},
                                                 {},
                                                 DelayedCall(environment_.core, environment_.clock)})
                    .first->second;
  entry.until = environment_.clock.now() + entry.pause.next();
  entry.why = why.message;
  entry.over.call_at(entry.until, [this] { changed_(); });
}

Result<ContainerGrant> ResourceAllocator::grant(const std::vector<std::string>& uids) const {
  std::vector<std::shared_ptr<const ClaimRecord>> held;
  for (const std::string& uid : uids) {
    auto record = environment_.ledger.find({resource_, uid});
    if (!record) return fail(Code::kAborted, "device '{}' was released meanwhile", uid);
    held.push_back(std::move(record));
  }
  return container_grant(resource_, config_.deliver, held);
}

Task<Status> ResourceAllocator::pre_start(std::vector<std::string> ids, Instant deadline) {
  std::set<std::string> done;  // a container may hold two replicas of one device
  for (const std::string& id : ids) {
    const auto record = record_of(id);
    if (!record)
      co_return fail(Code::kFailedPrecondition,
                     "device '{}' of resource '{}' is not handed out, as far as this host knows; "
                     "it asks the kubelet and knows more within seconds",
                     id, resource_);
    if (!done.insert(record->ref.uid).second) continue;
    const std::function<Task<Status>()> work = [this, id, ids, deadline] { return pre_start_alone(id, ids, deadline); };
    if (Status ready = co_await preparer_->run_alone(record->ref, work, deadline); !ready) co_return ready;
  }
  co_return Status{};
}

// Runs in the device's turn: a call that came first may have released it, or given it to another container.
Task<Status> ResourceAllocator::pre_start_alone(std::string id, std::vector<std::string> ids, Instant deadline) {
  const auto known = record_of(id);
  if (known) co_await environment_.devices.returned(known->parts.front().module, deadline);
  const auto record = record_of(id);  // holders come and go without a turn
  if (!record) co_return fail(Code::kFailedPrecondition, "it was released meanwhile");
  if (record->boot_id != environment_.ledger.boot_id())
    co_return fail(Code::kUnavailable, "it is not prepared again after the boot of the node; the kubelet tries again");
  const auto another = [&](const Holder& holder) { return std::ranges::find(ids, holder.id) == ids.end(); };
  if (std::ranges::any_of(holders_of(*record), another)) co_return Status{};  // another container uses it: no reset
  const ModulePart& part = record->parts.front();
  const auto module = environment_.devices.module(part.module);
  if (!module) co_return std::unexpected(module.error());
  if (const auto located = environment_.devices.locate_id(resource_, part.devices.front().device_id);
      located && !located->quiesced.empty())
    co_return fail(Code::kUnavailable, "{}", located->quiesced);
  PreStartCall pre_start{module_claim(*record, part, environment_.ledger.boot_id())};
  const Status ready = co_await (*module)->call(std::move(pre_start), deadline);
  if (!ready) co_return within_subject(ready.error(), fmt::format("module '{}'", part.module), "cannot make it ready");
  co_return Status{};
}

// -- release ---------------------------------------------------------------------------------------------------------

std::shared_ptr<const ClaimRecord> ResourceAllocator::record_of(const std::string& id) const {
  for (const auto& record : records()) {
    const HeldDevice* device = the_device(*record);
    if (!device) continue;
    if (std::ranges::find(device->holders, id, &Holder::id) != device->holders.end()) return record;
    if (device->holders.empty() && id == (device->device_id.empty() ? record->ref.uid : device->device_id))
      return record;
  }
  return nullptr;
}

// `last` is the time of the id's last allocate() before the kubelet said that it is free.
Status ResourceAllocator::still_free(const std::string& uid, const std::string& id, Instant last) const {
  if (busy(id) || others_need(uid, {id})) return fail(Code::kUnavailable, "device '{}' is being handed out", id);
  if (allocated(id) != last) return fail(Code::kAborted, "device '{}' was handed out again", id);
  return {};
}

Task<Status> ResourceAllocator::release(std::string id, Instant deadline) {
  const auto known = record_of(id);
  if (!known) co_return Status{};
  if (busy(id)) co_return fail(Code::kUnavailable, "device '{}' is being handed out", id);
  ClaimRecord record = *known;
  HeldDevice& device = *the_device(record);
  const auto holder = std::ranges::find(device.holders, id, &Holder::id);
  Status released;
  if (device.holders.size() <= 1) {
    const TurnCheck check = [&, last = allocated(id)] { return still_free(record.ref.uid, id, last); };
    released = co_await preparer_->unprepare_if(check, record.ref, deadline);
  } else {
    std::vector<HistoryEntry> left{
        history_entry(record, record.parts.front(), device, *holder, environment_.clock.wall())};
    device.holders.erase(holder);
    environment_.ledger.note(std::move(record), std::move(left));
  }
  if (released) allocated_.erase(id);
  changed_();
  co_return released;
}

// -- reports of the kubelet ------------------------------------------------------------------------------------------

void ResourceAllocator::seen(const std::string& id, const PodContainer& pod) {
  const auto known = record_of(id);
  if (!known || busy(id)) return;
  ClaimRecord record = *known;
  HeldDevice& device = *the_device(record);
  auto holder = std::ranges::find(device.holders, id, &Holder::id);
  if (holder == device.holders.end()) {  // the record was rebuilt from a CDI file, which names no holder
    const WallTime since = record.begun == WallTime{} ? environment_.clock.wall() : record.begun;
    holder = device.holders.insert(holder, {id, "", "", "", since});
  }
  holder->name_space = pod.name_space;
  holder->pod = pod.pod;
  holder->container = pod.container;
  if (record != *known) environment_.ledger.note(std::move(record));
}

Task<Status> ResourceAllocator::adopt(std::string id, PodContainer pod, Instant deadline) {
  const auto located = locate(id);
  if (!located) co_return std::unexpected(located.error());
  const std::string uid = uid_for(located->module, located->device);
  const std::vector<std::string> ids{id};
  const HandingOut handing_out(*this, uid, ids);
  const ClaimRef ref{"", "", uid};
  auto prepared = co_await preparer_->prepare(ref, deadline);
  if (!prepared) co_return std::unexpected(prepared.error());
  co_return add_holders(uid, ids, pod);
}

Task<bool> ResourceAllocator::restore(Instant deadline) {
  const auto whole = [this](const auto& record) { return is_whole(*record, environment_.ledger.boot_id()); };
  for (const auto& record : records()) {
    const TurnCheck check = [&] {
      return environment_.ledger.find(record->key()) ? Status{} : fail(Code::kAborted, "it was released meanwhile");
    };
    if (!whole(record)) (void)co_await preparer_->prepare_if(check, record->ref, deadline);  // logged by the preparer
  }
  co_return std::ranges::all_of(records(), whole);
}

std::optional<Health> ResourceAllocator::unavailable(const HeldDevices& others, const Device& device,
                                                     const ClaimRecord* own) const {
  const auto unhealthy = [](const char* reason, std::string message) {
    return Health{.state = HealthState::kUnhealthy, .reason = reason, .message = std::move(message)};
  };
  if (const auto entry = resting_.find(device.id);
      entry != resting_.end() && environment_.clock.now() < entry->second.until)
    return unhealthy("FailedRecently",
                     fmt::format("it is not offered for a while after a failure: {}", entry->second.why));
  const HeldDevice wanted{.allocation = {.driver = resource_, .device = device.name}, .device_id = device.id};
  const auto conflict = find_conflict(own ? own->key() : ClaimKey{}, others, wanted, environment_.ledger);
  if (!conflict) return std::nullopt;
  return unhealthy(conflict->partition.empty() ? "InUse" : "PartitionInUse", to_string(*conflict));
}

std::vector<HandedOutDevice> ResourceAllocator::handed_out() const {
  std::vector<HandedOutDevice> all;
  for (const auto& record : records()) {
    const HeldDevice* device = the_device(*record);
    if (!device) continue;
    for (const Holder& holder : device->holders)
      all.push_back({{resource_, holder.id}, allocated(holder.id), busy(holder.id), !holder.pod.empty()});
    if (const std::string& id = device->device_id; device->holders.empty() && !id.empty())
      all.push_back({{resource_, id}, allocated(id), handing_out_.contains(record->ref.uid), false});
  }
  return all;
}

Instant ResourceAllocator::allocated(const std::string& id) const {
  const auto entry = allocated_.find(id);
  return entry == allocated_.end() ? opened_ : entry->second;
}

bool ResourceAllocator::busy(const std::string& id) const {
  return std::ranges::any_of(handing_out_, [&](const auto& entry) { return entry.second == id; });
}

std::vector<std::shared_ptr<const ClaimRecord>> ResourceAllocator::records() const {
  std::vector<std::shared_ptr<const ClaimRecord>> records;
  for (const auto& [key, record] : environment_.ledger.claims_of(resource_)) records.push_back(record);
  return records;
}

}  // namespace cardcage
