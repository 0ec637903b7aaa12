#include "modules/nvidia/health/monitor.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace cardcage::nvidia {
namespace {

constexpr unsigned kTicksPerLook = 10;
constexpr int kMostEvents = 64;  // of a GPU in a tick
// A GPU is well again once the driver has asked for nothing at three looks, or, if the driver is too old to ask, ten
// minutes after the error.
constexpr int kWellLooks = 3, kQuarantineLooks = 60;
constexpr const char *kXidCause = "Xid", *kXidTaint = "gpu.nvidia.com/xid";

constexpr unsigned long long kWanted =
    nvml::kEventXid | nvml::kEventMigConfigChange | nvml::kEventGpuUnavailable | nvml::kEventRecoveryAction;

cage::Health health_of(const Rule* rule, const Readings& now) {
  if (rule == nullptr) return cage::Health::ok();
  if (rule->bad)
    return cage::Health::bad(rule->reason, rule->describe(now)).tainted(cage::Taint::no_schedule, rule->taint);
  cage::Health marked = cage::Health::ok().tainted(cage::Taint::inform, rule->taint);
  marked.reason = rule->reason;
  marked.message = rule->describe(now);
  return marked;
}

cage::Health health_after(unsigned long long xid, XidClass what) {
  const std::string number = std::to_string(xid);
  return cage::Health::bad("Xid" + number, "the driver reports XID " + number + "; " + remedy_of(what))
      .tainted(cage::Taint::no_schedule, kXidTaint, number)
      .about(kXidCause);
}

template <class Number>
bool read_number(std::string_view text, Number& number) {
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
}

}  // namespace

void Monitor::tick() {
  const bool looks = ticks_++ % kTicksPerLook == 0;
  if (looks && driver_.lacks_gpus()) host_.rescan();
  // A library that was replaced is closed now, and not between two uses of what belongs to it.
  const auto before = driver_.generation();
  try {
    if (driver_.opened() != nullptr) std::ignore = driver_.nvml();
  } catch (const cage::Error& error) {
    host_.debug() << error.what();
  }
  if (driver_.generation() != before) host_.rescan();
  if (driver_.generation() != generation_) forget();
  generation_ = driver_.generation();
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
      stop_watching(seen);
      host_.rescan();  // discover states what is wrong with it
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

// It may respond again.
void Monitor::look_at_faulty(const SeenGpu& seen) {
  stop_watching(seen);
  try {
    std::ignore = read_gpu(driver_.nvml(), driver_.handle(seen.gpu));
  } catch (const cage::Error&) {
    return;
  }
  host_.rescan();
}

void Monitor::watch(const SeenGpu& seen) {
  const nvml::Library& nvml = driver_.nvml();
  Watched watched{.device = driver_.handle(seen.gpu), .events = nullptr};
  for (const std::string& device : device_ids(seen, offer_)) faults_.try_emplace(device);
  unsigned long long supported = 0;
  const bool has_events = nvml->nvmlEventSetCreate != nullptr && nvml->nvmlDeviceRegisterEvents != nullptr &&
                          nvml->nvmlEventSetWait_v2 != nullptr && nvml->nvmlDeviceGetSupportedEventTypes != nullptr &&
                          nvml->nvmlDeviceGetSupportedEventTypes(watched.device, &supported) == nvml::kSuccess;
  if (has_events && nvml->nvmlEventSetCreate(&watched.events) == nvml::kSuccess &&
      nvml->nvmlDeviceRegisterEvents(watched.device, kWanted & supported, watched.events) != nvml::kSuccess) {
    nvml->nvmlEventSetFree(watched.events);  // it may be registered in part
    watched.events = nullptr;
  }
  if (watched.events != nullptr) last_xids_.try_emplace(seen.gpu.uuid);
  watched_.emplace(seen.gpu.uuid, watched);
}

void Monitor::stop_watching(const SeenGpu& seen) {
  const auto watched = watched_.find(seen.gpu.uuid);
  if (watched == watched_.end()) return;
  const nvml::Library* nvml = driver_.opened();
  if (nvml != nullptr && watched->second.events != nullptr && driver_.generation() == generation_)
    (*nvml)->nvmlEventSetFree(watched->second.events);
  watched_.erase(watched);
}

void Monitor::take_events(const SeenGpu& seen, Watched& watched) {
  if (watched.events == nullptr) return;
  const nvml::Library& nvml = library();
  for (int i = 0; i < kMostEvents; ++i) {
    nvml::EventData event{};
    const nvml::Return code = nvml->nvmlEventSetWait_v2(watched.events, &event, 0);
    if (code == nvml::kTimeout) return;
    nvml.must(code, "waiting for errors of GPU " + seen.gpu.bus_id);
    if (event.eventType == nvml::kEventXid) take_xid(seen, event);
    if (event.eventType == nvml::kEventMigConfigChange || event.eventType == nvml::kEventGpuUnavailable) host_.rescan();
    if (event.eventType == nvml::kEventRecoveryAction) look(seen, watched);
  }
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
    const bool is_watched = watched != watched_.end() && watched->second.events != nullptr &&
                            driver_.opened() != nullptr && driver_.generation() == generation_;
    // A GPU that has left the bus may take its event with it.
    if (!is_watched || classify_xid(event.eventData) == XidClass::kReboot) return take_xid(seen, event);
  }
}

void Monitor::take_xid(const SeenGpu& seen, const nvml::EventData& event) {
  last_xids_[seen.gpu.uuid] = event.eventData;
  const XidClass what = classify_xid(event.eventData);
  if (what != XidClass::kIgnored) host_.warn() << "XID " << event.eventData << " of GPU " << seen.gpu.bus_id;
  if (what == XidClass::kReboot) host_.rescan();  // it may not respond any more
  if (what < XidClass::kReset) return;            // the recovery action tells what a suspect one means
  for (const std::string& device : devices_of(seen, event)) {
    faults_[device] = {.xid = event.eventData, .well = 0};
    state(device, health_after(event.eventData, what));
  }
}

// An error of a MIG instance concerns that one; if nobody knows whose it is, all.
std::vector<std::string> Monitor::devices_of(const SeenGpu& seen, const nvml::EventData& event) const {
  if (event.gpuInstanceId != nvml::kNoInstance) try {
      for (const MigInstance& one : read_mig_instances(driver_.nvml(), driver_.handle(seen.gpu), seen.profiles))
        if (one.gpu_instance == event.gpuInstanceId) return {device_id(seen, one, offer_)};
    } catch (const cage::Error& error) {
      host_.debug() << error.what();
    }
  return device_ids(seen, offer_);
}

void Monitor::look(const SeenGpu& seen, Watched& watched) {
  const nvml::Library& nvml = library();
  Readings now = read_health(nvml, watched.device, seen.gpu.bus_id);
  now.most_nvlinks = watched.most_nvlinks = std::max(watched.most_nvlinks, now.nvlinks);
  const auto replays = nvml::get<unsigned>(nvml->nvmlDeviceGetPcieReplayCounter, watched.device);
  if (replays && watched.replays && *replays > *watched.replays) now.replays = *replays - *watched.replays;
  watched.replays = replays;
  const cage::Health watching = watched.events != nullptr
                                    ? cage::Health::ok()
                                    : cage::Health::unmonitored("NoEvents", "the driver reports no errors of this GPU");
  for (const std::string& device : device_ids(seen, offer_)) state(device, watching.about("Events"));
  judge(seen, now);
  look_for_recovery(seen, now);
}

void Monitor::judge(const SeenGpu& seen, const Readings& now) {
  std::map<std::string, const Rule*> applying;
  for (const Rule& rule : health_rules()) {
    const Rule*& first = applying[rule.cause];
    if (first == nullptr && rule.test(now)) first = &rule;
  }
  for (const auto& [cause, rule] : applying) {
    Judged& judged = judged_[seen.gpu.uuid][cause];
    judged.looks = rule == judged.next ? judged.looks + 1 : 1;
    judged.next = rule;
    const Rule* decisive = rule != nullptr ? rule : judged.counts;
    if (decisive == nullptr || judged.looks >= decisive->hold) judged.counts = rule;
    if (judged.counts != rule) continue;  // what was stated before holds
    for (const std::string& device : device_ids(seen, offer_)) state(device, health_of(rule, now).about(cause));
  }
}

void Monitor::look_for_recovery(const SeenGpu& seen, const Readings& now) {
  const bool asks = now.recovery_action.value_or(nvml::kActionNone) != nvml::kActionNone;
  const int needed = now.recovery_action ? kWellLooks : kQuarantineLooks;
  for (const std::string& device : device_ids(seen, offer_)) {
    const auto fault = faults_.find(device);
    if (fault == faults_.end() || classify_xid(fault->second.xid) == XidClass::kHardware) continue;
    fault->second.well = asks ? 0 : fault->second.well + 1;
    if (fault->second.well < needed) {
      if (fault->second.xid != 0) state(device, health_after(fault->second.xid, classify_xid(fault->second.xid)));
      continue;
    }
    faults_.erase(fault);
    state(device, cage::Health::ok().about(kXidCause));
  }
}

void Monitor::keep_statements(const Inventory& listed) {
  std::set<std::string> ids;
  for (const SeenGpu& seen : listed.gpus)
    for (std::string& id : device_ids(seen, offer_)) ids.insert(std::move(id));
  std::erase_if(said_, [&](const auto& entry) { return !ids.contains(entry.first); });
}

void Monitor::state(const std::string& device, const cage::Health& health) {
  std::string text = std::to_string(health.state) + health.reason + ": " + health.message;
  std::string& said = said_[device][health.cause];
  if (said == text) return;
  said = std::move(text);
  host_.health(device, health);
}

}  // namespace cardcage::nvidia
