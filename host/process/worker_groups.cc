#include "host/process/worker_groups.h"

#include <fmt/ranges.h>

#include <thread>

#include "host/core/digest.h"
#include "host/core/file.h"
#include "host/core/log.h"
#include "host/process/child_process.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kKillLimit{100}, kKillStep{2};

}  // namespace

WorkerGroups::WorkerGroups(const fs::path& run_dir, const fs::path& proc)
    : prefix_(fmt::format("cardcage-{}.", sha256_hex(run_dir.native()).substr(0, 8))) {
  if (auto home = find_control_group(proc)) {
    home_ = std::move(*home);
    kill_left_behind();
  } else {
    log(LogLevel::kWarn,
        "workers get no control groups: what a module forks may outlive its worker; give the daemon a writable cgroup "
        "(Delegate=yes in a systemd unit, privileged in a pod)",
        {{"error", home.error().message}});
  }
}

// Group names are "cardcage-1a2b3c4d.<module>.<number>".
void WorkerGroups::kill_left_behind() {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(home_, failed)) {
    const std::string name = entry.path().filename();
    const std::size_t end = name.rfind('.');
    if (!name.starts_with(prefix_) || end < prefix_.size()) continue;
    left_[name.substr(prefix_.size(), end - prefix_.size())].push_back(std::make_shared<ControlGroup>(entry.path()));
  }
  const auto gone = [](const std::shared_ptr<ControlGroup>& group) { return group->members().empty(); };
  for (auto& [module, groups] : left_) {
    std::erase_if(groups, gone);
    for (const auto& group : groups) {
      log(LogLevel::kWarn, "processes that an earlier daemon left behind are killed",
          {{"module", module}, {"pids", fmt::format("{}", fmt::join(group->members(), " "))}});
      group->kill();
    }
  }
  std::chrono::milliseconds waited{0};
  for (auto& [module, groups] : left_)
    for (; std::erase_if(groups, gone), !groups.empty() && waited < kKillLimit; waited += kKillStep)
      std::this_thread::sleep_for(kKillStep);
}

std::shared_ptr<ControlGroup> WorkerGroups::make(const std::string& module) {
  if (home_.empty()) return nullptr;
  std::error_code failed;
  for (;;) {
    const fs::path folder = home_ / fmt::format("{}{}.{}", prefix_, module, made_++);
    if (fs::create_directory(folder, failed)) return std::make_shared<ControlGroup>(folder);
    if (!failed) continue;  // left behind by an earlier daemon
    log_limited(LogLevel::kWarn, "control group", "a worker gets no control group: what it forks may outlive it",
                {{"module", module}, {"error", fmt::format("{}: {}", folder.native(), failed.message())}});
    return nullptr;
  }
}

Leftover WorkerGroups::left_behind(const std::string& module) const {
  const auto left = left_.find(module);
  if (left == left_.end() || left->second.empty()) return {};
  return [module, groups = left->second]() -> std::optional<std::string> {
    for (const auto& group : groups) {
      group->kill();
      if (const auto pids = group->members(); !pids.empty()) return text_of_survivor("a process", pids.front(), module);
    }
    return std::nullopt;
  };
}

}  // namespace cardcage
