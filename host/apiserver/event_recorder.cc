#include "host/apiserver/event_recorder.h"

#include <algorithm>
#include <string_view>

#include "host/core/ascii.h"
#include "host/core/backoff.h"
#include "host/core/cancellation.h"
#include "host/core/log.h"
#include "host/model/naming.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

constexpr Duration kGather = 1s, kRepeatWindow = 10min, kWriteLimit = 10s, kRetryPause = 5s;
// The burst of client-go's spam filter (EventSourceObjectSpamFilter), which refills more slowly, but per object.
constexpr int kEventBurst = 25;
constexpr Duration kEventInterval = 30s;
// A note of 1 KiB has no room for more.
constexpr std::size_t kMaxItems = 64, kMaxListedDetail = 100;
constexpr std::size_t kMaxGroupDevices = 10'000, kMaxBad = 20'000, kMaxWritten = 64;

std::string detail_of(const HealthEvent& event) {
  std::string detail = event.cause.empty() ? event.reason : event.cause;
  switch (event.kind) {
    case HealthEventKind::kEnded: return event.cause;
    case HealthEventKind::kGone:
    case HealthEventKind::kBack: return "";
    case HealthEventKind::kCleared:
    case HealthEventKind::kCordoned:
    case HealthEventKind::kUncordoned:
    case HealthEventKind::kReset: detail = event.by; break;
    default: break;
  }
  const std::string& text = event.message.empty() ? event.reason : event.message;
  if (detail.empty() || detail == text) return text;
  return text.empty() ? detail : detail + ": " + text;
}

}  // namespace

struct EventRecorder::Words {
  NodeEvent::Type type;
  std::string_view reason;
  std::string_view one, many;  // "is unhealthy", "are unhealthy"
};

EventRecorder::EventRecorder(asio::io_context& core, Clock& clock, Cluster& cluster, std::string node)
    : clock_(clock), cluster_(cluster), node_(std::move(node)), limit_(kEventBurst, kEventInterval), news_(core) {}

void EventRecorder::remember(const CauseRecord& record) {
  if (record.health.state == HealthState::kUnhealthy || record.health.state == HealthState::kDegraded)
    insert_bad(record.device, record.health.cause);
}

void EventRecorder::insert_bad(const DeviceKey& device, const std::string& cause) {
  if (bad_.size() < kMaxBad) bad_.emplace(device, cause);
}

bool EventRecorder::is_bad(const DeviceKey& device) const {
  const auto next = bad_.lower_bound({device, ""});
  return next != bad_.end() && next->first == device;
}

const EventRecorder::Words* EventRecorder::judge(const HealthEvent& event) {
  using enum NodeEvent::Type;
  static constexpr Words kUnhealthy{kWarning, "DeviceUnhealthy", "is unhealthy", "are unhealthy"};
  static constexpr Words kDegraded{kWarning, "DeviceDegraded", "is degraded", "are degraded"};
  static constexpr Words kHealthy{kNormal, "DeviceHealthy", "is healthy again", "are healthy again"};
  static constexpr Words kQuarantined{kWarning, "DeviceQuarantined", "is quarantined until an operator clears it",
                                      "are quarantined until an operator clears them"};
  static constexpr Words kGone{kWarning, "DeviceGone", "is gone", "are gone"};
  static constexpr Words kBack{kNormal, "DeviceBack", "is back", "are back"};
  static constexpr Words kCordoned{kNormal, "DeviceCordoned", "is cordoned", "are cordoned"};
  static constexpr Words kUncordoned{kNormal, "DeviceUncordoned", "is not cordoned any more",
                                     "are not cordoned any more"};
  static constexpr Words kReset{kNormal, "DeviceReset", "was reset", "were reset"};
  static constexpr Words kResetFailed{kWarning, "DeviceResetFailed", "could not be reset", "could not be reset"};
  const bool unhealthy = event.state == HealthState::kUnhealthy, degraded = event.state == HealthState::kDegraded;
  switch (event.kind) {
    case HealthEventKind::kBegan:
    case HealthEventKind::kEased:
      if (unhealthy || degraded) insert_bad(event.device, event.cause);
      if (degraded) return &kDegraded;
      return unhealthy && event.kind == HealthEventKind::kBegan ? &kUnhealthy : nullptr;
    case HealthEventKind::kEnded:
    case HealthEventKind::kCleared:
      return bad_.erase({event.device, event.cause}) > 0 && !is_bad(event.device) ? &kHealthy : nullptr;
    case HealthEventKind::kQuarantined: insert_bad(event.device, event.cause); return &kQuarantined;
    case HealthEventKind::kGone: return &kGone;
    case HealthEventKind::kBack: return &kBack;
    case HealthEventKind::kCordoned: return &kCordoned;
    case HealthEventKind::kUncordoned: return &kUncordoned;
    case HealthEventKind::kReset: return &kReset;
    case HealthEventKind::kResetFailed: return &kResetFailed;
  }
  return nullptr;
}

void EventRecorder::record(const HealthEvent& event) {
  const Words* const words = judge(event);
  if (!words) return;
  auto group = std::ranges::find(groups_, words, &Group::words);
  if (group == groups_.end())
    group = groups_.insert(groups_.end(), {words, clock_.now(), event.time, event.time, {}, {}, 0});
  group->last = std::max(group->last, event.time);
  ++group->times;
  if (group->devices.size() < kMaxGroupDevices) group->devices.insert(event.device);
  auto item = std::ranges::find_if(
      group->items, [&](const Item& one) { return one.device == event.device && one.cause == event.cause; });
  if (item == group->items.end() && group->items.size() < kMaxItems)
    item = group->items.insert(item, {event.device, event.cause, "", "", 0});
  if (item != group->items.end()) {
    item->name = event.name.empty() ? event.device.id : event.name;
    item->detail = detail_of(event);
    ++item->times;
  }
  news_.wake();
}

std::string EventRecorder::key_of(const Group& group) {
  std::string key = fmt::format("{} {}", group.words->reason, group.devices.size());
  for (const Item& item : group.items) key += fmt::format("\n{} {} {}", item.device.module, item.device.id, item.cause);
  return key;
}

std::string EventRecorder::note_of(const Group& group) const {
  const bool one = group.devices.size() == 1;
  std::string note = one ? fmt::format("{} {}", group.items.front().name, group.words->one)
                         : fmt::format("{} devices {}", group.devices.size(), group.words->many);
  std::string end;
  if (group.words->type == NodeEvent::Type::kWarning) end += "; see 'cagectl health' on the node";
  if (lost_ > 0) end += fmt::format("; {} earlier events of devices could not be written", lost_);
  constexpr std::string_view kMore = ", and 10000 more";
  const std::size_t room = kMaxEventNote - end.size() - kMore.size();
  std::set<DeviceKey> listed;
  std::string_view separator = ": ";
  for (const Item& item : group.items) {
    std::string text = one ? printable_lines(item.detail, room - std::min(room, note.size() + 2))
                       : item.detail.empty()
                           ? item.name
                           : fmt::format("{} ({})", item.name, printable(item.detail, kMaxListedDetail));
    if (text.empty() || note.size() + separator.size() + text.size() > room) continue;
    note.append(separator).append(text);
    separator = one ? "; " : ", ";
    listed.insert(item.device);
  }
  if (!one && listed.size() < group.devices.size())
    note += fmt::format(", and {} more", group.devices.size() - listed.size());
  return note + end;
}

std::string EventRecorder::unique_name() {
  const auto now = std::chrono::nanoseconds(clock_.wall().time_since_epoch()).count();
  last_name_ = std::max(now, last_name_ + 1);
  const std::string suffix = fmt::format(".{:x}", last_name_);
  std::string name = node_.substr(0, kMaxDnsSubdomain - suffix.size());
  while (!name.empty() && !is_alphanumeric(name.back())) name.pop_back();
  return name + suffix;
}

NodeEvent EventRecorder::make(const Group& group) {
  const Instant now = clock_.now();
  std::erase_if(written_, [&](const Written& one) { return now - one.at >= kRepeatWindow; });
  std::string key = key_of(group);
  // Several devices count as one occurrence, a device that comes and goes as often as it did.
  const std::int64_t times = group.items.size() == 1 && group.devices.size() == 1 ? group.times : 1;
  NodeEvent event{.type = group.words->type,
                  .node = node_,
                  .name = "",
                  .reason = std::string(group.words->reason),
                  .note = note_of(group),
                  .first = group.first,
                  .last = group.last,
                  .count = times};
  const auto known = std::ranges::find(written_, key, &Written::key);
  if (known == written_.end()) {
    event.name = unique_name();
  } else {
    event.name = known->event.name;
    event.first = known->event.first;
    event.count += known->event.count;
    written_.erase(known);
  }
  if (written_.size() >= kMaxWritten) written_.pop_front();
  written_.push_back({std::move(key), event, now});
  return event;
}

Task<void> EventRecorder::write(NodeEvent event, std::int64_t times) {
  auto written = co_await cluster_.write_event(event, clock_.now() + kWriteLimit);
  if (!written && written.error().code == Code::kUnavailable) {
    Backoff backoff(kRetryPause, kRetryPause, node_);
    co_await clock_.sleep_for(backoff.next());
    written = co_await cluster_.write_event(event, clock_.now() + kWriteLimit);
  }
  if (written) {
    lost_ = 0;
    refused_ = false;
    co_return;
  }
  if (co_await cancelled()) co_return;
  lost_ += times;
  const bool refused = written.error().code == Code::kPermissionDenied;
  if (refused && !std::exchange(refused_, true))
    log(LogLevel::kWarn,
        "the cluster accepts no Events about devices; allow the daemon to create and patch events, "
        "as the ClusterRole of the chart does",
        {{"error", written.error().message}});
  if (!refused)
    log_limited(LogLevel::kWarn, "node-event", "an Event about devices could not be written",
                {{"reason", event.reason}, {"note", event.note}, {"error", written.error().message}});
}

Task<void> EventRecorder::run() {
  while (true) {
    const bool over = co_await cancelled();
    if (over) co_return;
    if (groups_.empty()) {
      co_await news_.wait();
      continue;
    }
    const Instant due = std::max(groups_.front().begun + kGather, limit_.next());
    if (clock_.now() < due) {
      co_await clock_.sleep_until(due);
      continue;
    }
    limit_.take(clock_.now());
    const Group group = std::move(groups_.front());
    groups_.erase(groups_.begin());
    NodeEvent event = make(group);
    co_await write(std::move(event), group.times);
  }
}

}  // namespace cardcage
