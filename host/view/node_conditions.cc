#include "host/view/node_conditions.h"

#include <fmt/ranges.h>

#include <array>

namespace cardcage {
namespace {

std::string count(std::size_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

// The alert CardcageDiskLow has the same limit. A ledger with a full history takes about 10 MiB.
constexpr std::uint64_t kLowDisk = std::uint64_t{128} << 20;

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.{}f} {}", value, unit == 0 || value >= 10 ? 0 : 1, kUnits[unit]);
}

Level level_of(PodResourcesView::State state) {
  switch (state) {
    case PodResourcesView::State::kOk: return Level::kGood;
    case PodResourcesView::State::kFailing: return Level::kBad;
    case PodResourcesView::State::kWaiting:
    case PodResourcesView::State::kAbsent: break;
  }
  return Level::kInProgress;
}

}  // namespace

Condition config_condition(const ConfigState& state, const std::vector<std::string>& refused_by) {
  if (!state.errors.empty()) return {Level::kBad, "refused", count(state.errors.size(), "error")};
  if (!refused_by.empty())
    return {Level::kBad, "refused",
            fmt::format("by module{} '{}'", refused_by.size() == 1 ? "" : "s", fmt::join(refused_by, "', '"))};
  if (!state.restart.empty()) return {Level::kInProgress, "needs restart", count(state.restart.size(), "key")};
  return {Level::kGood, "applied", ""};
}

std::vector<std::string> config_warnings(const ConfigState& state) {
  std::vector<std::string> warnings;
  for (const std::string& error : state.errors) warnings.push_back("the configuration file is not applied: " + error);
  for (const std::string& key : state.restart)
    warnings.push_back(fmt::format("the configuration file changes {}, which needs a restart of the daemon", key));
  return warnings;
}

Condition ledger_condition(bool rebuilt, const std::optional<Error>& refusal, const std::optional<Error>& last_error) {
  if (refusal) return {Level::kBad, "refusing", refusal->message};
  if (last_error) return {Level::kBad, "failing", last_error->message};
  return {Level::kGood, rebuilt ? "rebuilt" : "ok", ""};
}

std::optional<Condition> disk_condition(const std::optional<DiskSpace>& space) {
  if (!space) return std::nullopt;
  const bool low = space->free < kLowDisk;
  return Condition{low ? Level::kBad : Level::kGood, low ? "low" : "ok",
                   fmt::format("{} free, {} used", bytes_text(space->free), bytes_text(space->used))};
}

Condition api_server_condition(const std::filesystem::path& claims_folder,
                               const std::vector<const PublisherStatus*>& publishers) {
  if (!claims_folder.empty()) return {Level::kGood, "embedded", claims_folder.native()};
  bool connected = false;
  for (const PublisherStatus* published : publishers) {
    if (!published->last_error.empty()) return {Level::kBad, "unreachable", published->last_error};
    connected = connected || published->last_success;
  }
  if (connected) return {Level::kGood, "connected", ""};
  return {Level::kInProgress, "waiting", "nothing has been published yet"};
}

std::string runtime_warning(const std::vector<const PublisherStatus*>& publishers) {
  constexpr std::string_view kScheme = "containerd://";
  for (const PublisherStatus* published : publishers) {
    const std::string_view runtime = published->node_runtime;
    // containerd has CDI for containers since 1.7, off by default; 2.0 enables it.
    if (runtime.starts_with(kScheme) && runtime.substr(kScheme.size()).starts_with("1."))
      return fmt::format(
          "containerd {} starts containers without their devices and reports no error unless its configuration has "
          "enable_cdi = true, which cannot be seen from here; containerd 2 has it by default",
          runtime.substr(kScheme.size()));
  }
  return "";
}

Condition pods_api_condition(const PodsWatchView& view) {
  switch (view.state) {
    case PodsWatchView::State::kWatching: return {Level::kGood, "watching", count(view.pods, "pod")};
    case PodsWatchView::State::kSyncing: return {Level::kInProgress, "syncing", ""};
    case PodsWatchView::State::kFailing: return {Level::kBad, "failing", view.error};
    case PodsWatchView::State::kAbsent: break;
  }
  return {Level::kGood, "absent", "claims are read when the kubelet asks for them"};
}

Condition pod_resources_condition(const PodReconcilerStatus& status) {
  const PodResourcesView& view = status.resources;
  return {level_of(view.state), std::string(to_string(view.state)),
          view.error.empty() ? status.last_error : view.error};
}

}  // namespace cardcage
