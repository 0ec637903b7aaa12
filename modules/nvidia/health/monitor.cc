#include "modules/nvidia/health/monitor.h"

#include <algorithm>
#include <charconv>

#include "modules/nvidia/health/declared_causes.h"
#include "modules/nvidia/health/judgement.h"

namespace cardcage::nvidia {
namespace {

constexpr unsigned kTicksPerLook = 10;
constexpr int kMostEvents = 64;  // per GPU and tick
// A GPU is healthy again once the driver has asked for no action at three looks. With a driver that is too
// old to ask, it is healthy ten minutes after the error.
constexpr int kWellLooks = 3, kQuarantineLooks = 60;
// The end of a process may bring thousands of errors at once.
constexpr std::chrono::seconds kHarmlessPause{1};

constexpr unsigned long long kWanted =
    nvml::kEventXid | nvml::kEventMigConfigChange | nvml::kEventGpuUnavailable | nvml::kEventRecoveryAction;

cage::Health health_after(unsigned long long xid, XidClass what) {
  const std::string number = std::to_string(xid), text = "the driver reports XID " + number + "; ";
  const bool is_bad = what >= XidClass::kReset;
  const cage::Health health = is_bad ? cage::Health::bad("Xid" + number, text + remedy_of(what))
                                     : cage::Health::degraded("Xid" + number, text + meaning_of(what));
  return health.tainted(cage::Taint::no_schedule, taint_key_of(cause::kXid), number)
      .about(is_bad ? cause::kXid : cause::kAppXid);
}

template <class Number>
bool read_number(std::string_view text, Number& number) {
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
}

}  // namespace

void Monitor::tick() {
  const bool looks = ticks_++ % kTicksPerLook == 0;
  if (looks && driver_.lacks_gpus()) host_.rescan();
  // Closes a replaced library here, and not between two uses of its handles.
  const auto once = driver_.look_once();
  const auto before = driver_.generation();
  try {
    if (driver_.opened() != nullptr) std::ignore = driver_.nvml();
  } catch (const cage::Error& error) {
    host_.debug() << error.what();
  }
  if (driver_.generation() != before) host_.rescan();
  const Inventory inventory = driver_.inventory();
  for (const SeenGpu& seen : inventory.gpus) {
    if (seen.released) continue;
    try {
      if (!seen.fault.empty()) {
        if (looks) look_at_faulty(seen);
        continue;
      }
      if (!watched_.contains(seen.gpu.uuid)) watch(seen);
      Watched& watched = watched_.at(seen.gpu.uuid);
      take_events(seen, watched);
      if (looks) look(seen, watched);
    } catch (const cage::Error& error) {
      host_.debug() << error.what();
      watched_.erase(seen.gpu.uuid);
      host_.rescan();  // discover states the fault
    }
  }
}

std::optional<unsigned long long> Monitor::last_xid(const std::string& gpu_uuid) const {
  const auto found = last_xids_.find(gpu_uuid);
  if (found == last_xids_.end()) return std::nullopt;
  return found->second;
}

const nvml::Library& Monitor::library() const {
  if (driver_.opened() == nullptr) throw cage::Error(CAGE_UNAVAILABLE, "the driver is closed");
  return *driver_.opened();
}

// Rescans if the GPU responds again.
void Monitor::look_at_faulty(const SeenGpu& seen) {
  watched_.erase(seen.gpu.uuid);
  try {
    std::ignore = read_gpu(driver_.nvml(), driver_.handle(seen.gpu));
  } catch (const cage::Error&) {
    return;
  }
  host_.rescan();
}

void Monitor::watch(const SeenGpu& seen) {
  const nvml::Library& nvml = driver_.nvml();
  Watched watched{.device = driver_.handle(seen.gpu)};
  for (const std::string& device : all_ids(seen)) faults_.try_emplace(device);
  unsigned long long supported = 0;
  const bool has_events = nvml->nvmlDeviceRegisterEvents != nullptr && nvml->nvmlEventSetWait_v2 != nullptr &&
                          nvml->nvmlDeviceGetSupportedEventTypes != nullptr &&
                          nvml->nvmlDeviceGetSupportedEventTypes(watched.device, &supported) == nvml::kSuccess;
  // Without XIDs the set would be silent, and the kernel's log is read instead.
  if (has_events && (supported & nvml::kEventXid) != 0) watched.events = nvml.make_event_set();
  if (watched.events &&
      nvml->nvmlDeviceRegisterEvents(watched.device, kWanted & supported, watched.events.get()) != nvml::kSuccess)
    watched.events.reset();  // it may be registered in part
  if (watched.events) last_xids_.try_emplace(seen.gpu.uuid);
  watched_.emplace(seen.gpu.uuid, std::move(watched));
}

void Monitor::take_events(const SeenGpu& seen, Watched& watched) {
  if (!watched.events) return;
  const nvml::Library& nvml = library();
  for (int i = 0; i < kMostEvents; ++i) {
    nvml::EventData event{};
    const nvml::Return code = nvml->nvmlEventSetWait_v2(watched.events.get(), &event, 0);
    if (code == nvml::kTimeout) return;
    nvml.must(code, "waiting for errors of GPU " + seen.gpu.bus_id);
    if (event.eventType == nvml::kEventXid) take_xid(gpu_of(event, seen, watched), event);
    if (event.eventType == nvml::kEventMigConfigChange || event.eventType == nvml::kEventGpuUnavailable) host_.rescan();
    if (event.eventType == nvml::kEventRecoveryAction) look(seen, watched);
  }
}

// A set may report a GPU for which it was not made. Returns the set's own GPU if the handle belongs to no known one.
const SeenGpu& Monitor::gpu_of(const nvml::EventData& event, const SeenGpu& seen, const Watched& watched) const {
  if (event.device == watched.device || event.device == nullptr) return seen;
  const auto same = [&](const auto& one) { return one.second.device == event.device; };
  if (const auto other = std::ranges::find_if(watched_, same); other != watched_.end())
    if (const SeenGpu* found = driver_.inventory().find(other->first)) return *found;
  nvml::PciInfo pci{};  // another handle of a GPU
  if (library()->nvmlDeviceGetPciInfo_v3(event.device, &pci) == nvml::kSuccess)
    if (const SeenGpu* found = driver_.inventory().at(normal_bus_id(nvml::text_in(pci.busId)))) return *found;
  return seen;
}

void Monitor::take_kernel_message(std::string_view text) {
  constexpr std::string_view kBegin = "NVRM: Xid (PCI:", kMiddle = "): ", kInstance = " GPU-I:";
  const auto middle = text.find(kMiddle);
  if (!text.starts_with(kBegin) || middle == std::string_view::npos) return;
  std::string_view where = text.substr(kBegin.size(), middle - kBegin.size());
  nvml::EventData event{.device = nullptr, .eventType = nvml::kEventXid, .eventData = 0};
  event.gpuInstanceId = event.computeInstanceId = nvml::kNoInstance;
  if (!read_number(text.substr(middle + kMiddle.size()), event.eventData)) return;
  if (const auto instance = where.find(kInstance); instance != std::string_view::npos)
    read_number(where.substr(instance + kInstance.size()), event.gpuInstanceId);
  const std::string slot = normal_bus_id(where.substr(0, where.find(' ')));
  for (const SeenGpu& seen : driver_.inventory().gpus) {
    if (!seen.gpu.bus_id.starts_with(slot + ".") || seen.released) continue;
    const auto watched = watched_.find(seen.gpu.uuid);
    const bool is_watched = watched != watched_.end() && watched->second.events;
    // A GPU that has left the bus may not deliver its event.
    if (!is_watched || classify_xid(event.eventData) == XidClass::kReboot) return take_xid(seen, event);
  }
}

void Monitor::take_xid(const SeenGpu& seen, const nvml::EventData& event) {
  last_xids_[seen.gpu.uuid] = event.eventData;
  if (is_uncontained_memory_error(event.eventData)) uncontained_.insert(seen.gpu.uuid);
  const XidClass what = classify_xid(event.eventData);
  if (what == XidClass::kIgnored) return;
  // The recovery action shows the effect of a suspect XID.
  if (what < XidClass::kReset) return note_harmless(seen, event, what);
  host_.warn() << "XID " << event.eventData << " of GPU " << seen.gpu.bus_id;
  if (what == XidClass::kReboot) host_.rescan();  // the GPU may not respond any more
  for (const std::string& device : devices_of(seen, event)) {
    faults_[device] = {.xid = event.eventData, .well = 0};
    statements_.state(device, health_after(event.eventData, what));
  }
}

// Operators may give such an XID a rule of their own.
void Monitor::note_harmless(const SeenGpu& seen, const nvml::EventData& event, XidClass what) {
  const auto now = cage::Call::Clock::now();
  std::erase_if(harmless_, [&](const auto& entry) { return now - entry.second >= kHarmlessPause; });
  if (!harmless_.try_emplace({seen.gpu.uuid, event.gpuInstanceId, event.eventData}, now).second) return;
  host_.warn() << "XID " << event.eventData << " of GPU " << seen.gpu.bus_id;
  for (const std::string& device : devices_of(seen, event))
    statements_.state(device, health_after(event.eventData, what));
}

// An error of a MIG instance concerns that instance; if the instance is unknown, the whole GPU.
std::vector<std::string> Monitor::devices_of(const SeenGpu& seen, const nvml::EventData& event) const {
  if (event.gpuInstanceId != nvml::kNoInstance) try {
      for (const MigInstance& one : read_mig_instances(driver_.nvml(), driver_.handle(seen.gpu), seen.profiles))
        if (one.gpu_instance == event.gpuInstanceId) return {device_id(seen, one, offer_)};
    } catch (const cage::Error& error) {
      host_.debug() << error.what();
    }
  return whole_ids(seen, offer_);
}

std::set<std::string> Monitor::all_ids(const SeenGpu& seen) const {
  std::set<std::string> ids;
  for (std::string& id : device_ids(seen, offer_)) ids.insert(std::move(id));
  for (std::string& id : whole_ids(seen, offer_)) ids.insert(std::move(id));
  return ids;
}

void Monitor::look(const SeenGpu& seen, Watched& watched) {
  Readings now = read_health(library(), watched.device, seen.gpu.bus_id);
  now.most_nvlinks = watched.most_nvlinks = std::max(watched.most_nvlinks, now.nvlinks);
  PcieLink& link = pcie_links_[seen.gpu.uuid];
  now.most_lanes = link.lanes = std::max(link.lanes, now.link_width.value_or(0));
  now.best_generation = link.generation = std::max(link.generation, now.link_generation.value_or(0));
  if (now.replay_count && watched.replays) {
    const unsigned more = *now.replay_count > *watched.replays ? *now.replay_count - *watched.replays : 0;
    now.replays = more * (std::chrono::minutes(1) / std::chrono::duration<double>(interval_ * kTicksPerLook));
  }
  watched.replays = now.replay_count;
  if (now.uncorrectable_errors == 0ULL) uncontained_.erase(seen.gpu.uuid);  // the GPU was reset
  now.uncontained = uncontained_.contains(seen.gpu.uuid);
  std::vector<cage::Health> all = judge(now);
  const cage::Health watching = watched.events
                                    ? cage::Health::ok()
                                    : cage::Health::unmonitored("NoEvents", "the driver reports no errors of this GPU");
  all.push_back(watching.about(cause::kEvents));
  for (const std::string& device : whole_ids(seen, offer_))
    for (const cage::Health& one : all) statements_.state(device, one);
  look_for_recovery(seen, now);
}

void Monitor::start_anew(const std::string& bus_id) {
  const SeenGpu* seen = driver_.inventory().at(bus_id);
  if (seen == nullptr || !seen->responds())
    throw cage::Error(CAGE_UNAVAILABLE,
                      "GPU " + bus_id + " has not come back from its reset: " +
                          (seen == nullptr ? std::string("the driver does not list it") : seen->fault));
  for (const std::string& device : all_ids(*seen)) {
    statements_.forget(device);
    statements_.state(device, access_of(*seen));
    statements_.state(device, cage::Health::ok().about(cause::kXid));
  }
  watched_.erase(seen->gpu.uuid);
  watch(*seen);
  for (const std::string& device : all_ids(*seen)) faults_.erase(device);
  look(*seen, watched_.at(seen->gpu.uuid));
}

void Monitor::look_for_recovery(const SeenGpu& seen, const Readings& now) {
  const bool asks = now.recovery_action.value_or(nvml::kActionNone) != nvml::kActionNone;
  const int needed = now.recovery_action ? kWellLooks : kQuarantineLooks;
  for (const std::string& device : all_ids(seen)) {
    const auto fault = faults_.find(device);
    if (fault == faults_.end() || classify_xid(fault->second.xid) == XidClass::kHardware) continue;
    fault->second.well = asks ? 0 : fault->second.well + 1;
    if (fault->second.well < needed) {
      if (fault->second.xid != 0)
        statements_.state(device, health_after(fault->second.xid, classify_xid(fault->second.xid)));
      continue;
    }
    faults_.erase(fault);
    statements_.state(device, cage::Health::ok().about(cause::kXid));
  }
}

void Monitor::keep_statements(const Inventory& listed) {
  std::set<std::string> ids;
  for (const SeenGpu& seen : listed.gpus) ids.merge(all_ids(seen));
  statements_.keep(ids);
}

}  // namespace cardcage::nvidia
