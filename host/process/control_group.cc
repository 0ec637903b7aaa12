#include "host/process/control_group.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "host/core/file.h"
#include "host/core/pid.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxList = std::size_t{1} << 20;
constexpr int kMaxRounds = 10;  // rounds, because processes may fork meanwhile
constexpr int kMaxRemovals = 10;

Status write_to(const fs::path& file, std::string_view text) {
  errno = 0;
  std::ofstream out(file);
  out << text << std::flush;
  if (!out) return fail_errno(errno != 0 ? errno : EIO, fmt::format("cannot write '{}'", file.native()));
  return {};
}

struct CgroupMount {
  fs::path root, point;
};

// Parses lines such as "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu"; optional fields may
// precede the '-'.
std::optional<CgroupMount> find_mount(std::string_view mountinfo, std::string_view type, std::string_view option) {
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    const auto end = line.find(" - ");
    if (end == std::string::npos) continue;
    std::istringstream head(line.substr(0, end)), tail(line.substr(end + 3));
    std::string skipped, root, point, its_type, options;
    head >> skipped >> skipped >> skipped >> root >> point;
    tail >> its_type >> skipped >> options;
    if (its_type == type && ("," + options + ",").find(fmt::format(",{},", option)) != std::string::npos)
      return CgroupMount{root, point};
  }
  return std::nullopt;
}

// Parses lines such as "9:name=systemd:/system.slice/cardcage.service"; version 2 is
// "0::/system.slice/cardcage.service".
std::optional<fs::path> path_in(std::string_view cgroup, std::string_view hierarchy) {
  std::istringstream lines{std::string(cgroup)};
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos || line.substr(first + 1, second - first - 1) != hierarchy) continue;
    return line.substr(second + 1);
  }
  return std::nullopt;
}

// A container sees a part of the hierarchy, possibly with the host's paths.
std::optional<fs::path> folder_of(const fs::path& path, const CgroupMount& mount) {
  const fs::path below = path.lexically_relative(mount.root);
  if (below.empty() || *below.begin() == "..") return std::nullopt;
  return below == "." ? mount.point : mount.point / below;
}

}  // namespace

// Retries: the kernel counts a process for a moment longer than it lists it.
ControlGroup::~ControlGroup() {
  std::error_code busy;
  for (int attempt = 0; attempt < kMaxRemovals; ++attempt) {
    fs::remove(folder_, busy);
    if (busy != std::errc::device_or_resource_busy || !members().empty()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Status ControlGroup::add(pid_t pid) const { return write_to(folder_ / "cgroup.procs", std::to_string(pid)); }

void ControlGroup::kill() const {
  if (write_to(folder_ / "cgroup.kill", "1")) return;  // version 2, since Linux 5.14
  for (int round = 0; round < kMaxRounds; ++round) {
    const std::vector<pid_t> pids = members();
    if (pids.empty()) return;
    for (const pid_t pid : pids)
      if (valid_pid(pid)) ::kill(pid, SIGKILL);
  }
}

std::vector<pid_t> ControlGroup::members() const {
  const std::string list = read_file(folder_ / "cgroup.procs", kMaxList).value_or("");
  std::istringstream lines(list);
  std::vector<pid_t> pids;
  for (pid_t pid = 0; lines >> pid;) pids.push_back(pid);
  return pids;
}

std::vector<fs::path> own_control_groups(std::string_view cgroup, std::string_view mountinfo) {
  constexpr std::string_view kSystemd = "name=systemd";
  std::vector<fs::path> folders;
  const auto add = [&](std::string_view hierarchy, std::string_view type, std::string_view option) {
    const auto path = path_in(cgroup, hierarchy);
    const auto mount = find_mount(mountinfo, type, option);
    if (!path || !mount) return;
    if (auto folder = folder_of(*path, *mount)) folders.push_back(std::move(*folder));
  };
  add("", "cgroup2", "rw");
  add(kSystemd, "cgroup", kSystemd);
  return folders;
}

Result<fs::path> find_control_group(const fs::path& proc) {
  const auto cgroup = read_file(proc / "cgroup", kMaxList), mountinfo = read_file(proc / "mountinfo", kMaxList);
  if (!cgroup || !mountinfo) return std::unexpected((cgroup ? mountinfo : cgroup).error());
  const std::vector<fs::path> folders = own_control_groups(*cgroup, *mountinfo);
  if (folders.empty()) return fail(Code::kNotFound, "no cgroup hierarchy is mounted");
  int error = 0;
  for (const fs::path& folder : folders) {
    if (::access(folder.c_str(), W_OK) == 0) return folder;
    error = errno;
  }
  return fail_errno(error, fmt::format("'{}'", folders.back().native()));
}

}  // namespace cardcage
