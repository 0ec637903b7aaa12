#include "host/instance/host_services.h"

#include <utility>

#include "host/core/clock.h"
#include "host/core/version.h"
#include "host/instance/borrowed.h"
#include "host/instance/device_copy.h"
#include "host/instance/snapshot_sink.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxLogLine = 2048;

}  // namespace

LogLevel log_level_of(std::uint32_t level) {
  return level > CAGE_LOG_ERROR ? LogLevel::kError : static_cast<LogLevel>(level);
}

HostServices::HostServices(std::string module, std::function<void()> arrived)
    : module_(std::move(module)), arrived_(std::move(arrived)), table_{} {
  table_.struct_size = sizeof table_;
  table_.abi_minor = CAGE_ABI_MINOR;
  table_.host_data = this;
  table_.version = {version().data(), version().size()};
  table_.log_enabled = [](const cage_host*, std::uint32_t level) -> std::int32_t {
    return log_enabled(log_level_of(level)) ? 1 : 0;
  };
  table_.log = [](const cage_host* table, std::uint32_t level, cage_str text) { self_of(table).log(level, text); };
  table_.rescan = [](const cage_host* table) { self_of(table).note_rescan(); };
  table_.health = [](const cage_host* table, const cage_health* health) { self_of(table).note_health(health); };
  table_.extension = [](const cage_host*, const char*) -> const void* { return nullptr; };
}

ModuleNews HostServices::take() {
  const std::lock_guard lock(mutex_);
  pending_ = false;
  return std::exchange(news_, {});
}

void HostServices::log(std::uint32_t level, cage_str text) {
  if (closed_.load() || text.data == nullptr || !log_enabled(log_level_of(level))) return;
  LineBudget::Verdict verdict;
  {
    const std::lock_guard lock(mutex_);
    verdict = log_budget_.take(SystemClock().now());
  }
  if (verdict.left_out > 0)
    log_limited(LogLevel::kWarn, module_ + "/lines", "module logs too much; lines are left out",
                {{"module", module_}, {"lines", std::to_string(verdict.left_out)}});
  if (!verdict.write) return;
  const std::string_view start(text.data, std::min(text.size, kMaxLogLine + 4));
  const std::string line = printable(start, kMaxLogLine);
  {
    const std::lock_guard lock(mutex_);
    last_lines_.add(line);
  }
  cardcage::log(log_level_of(level), line, {{"module", module_}});
}

std::vector<SaidLine> HostServices::last_lines() {
  const std::lock_guard lock(mutex_);
  return last_lines_.all();
}

template <class Change>
void HostServices::note(Change change) {
  if (closed_.load()) return;
  {
    const std::lock_guard lock(mutex_);
    change(news_);
    if (std::exchange(pending_, true)) return;
  }
  arrived_();
}

void HostServices::note_rescan() {
  note([](ModuleNews& news) { news.rescan = true; });
}

void HostServices::note_health(const cage_health* given) {
  const auto refuse = [&](const std::string& why) {
    log_limited(LogLevel::kError, module_ + "/health", "health report is ignored: " + why, {{"module", module_}});
  };
  const auto adopted = adopt(given, "cage_health");
  if (!adopted) return refuse(adopted.error().message);
  auto health = copy_health(*adopted);
  if (!health) return refuse(health.error().message);
  if (health->first.empty()) return refuse("health.device_id is empty: say which device it is about");
  note([&](ModuleNews& news) {
    // A snapshot has at most kMaxDevices devices: the module reports others if this drops anything.
    if (news.health.size() < kMaxDevices || news.health.contains(health->first))
      news.health.insert_or_assign(std::move(health->first), std::move(health->second));
  });
}

}  // namespace cardcage
