#include "modules/nvidia/mps.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>

#include "modules/common/text.h"

namespace cardcage::nvidia {
namespace {

namespace fs = std::filesystem;

constexpr const char *kService = "mps", *kProgram = "cardcage-nvidia-mps";
constexpr std::chrono::seconds kStartLimit{10};  // the call blocks until then
constexpr std::chrono::milliseconds kStartPollInterval{20};

[[noreturn]] void fail(const std::string& doing, int error) {
  throw cage::Error(CAGE_UNAVAILABLE, doing + ": " + std::strerror(error));
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail("making the folder '" + folder.native() + "' for MPS", error.value());
}

bool is_mount_point(const fs::path& folder) {
  struct stat inside{}, outside{};
  return ::stat(folder.c_str(), &inside) == 0 && ::stat(folder.parent_path().c_str(), &outside) == 0 &&
         inside.st_dev != outside.st_dev;
}

// Mounts a tmpfs, so that containers that write there fill no other memory or disk.
void mount_memory(const fs::path& folder, const char* options) {
  make_folder(folder);
  if (is_mount_point(folder)) return;
  if (::mount("cardcage-nvidia-mps", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) != 0)
    fail("mounting memory for MPS at '" + folder.native() + "'", errno);
}

// Whether the control daemon with these arguments serves now: its program holds a lock on the file.
bool is_ready(const fs::path& file, const std::string& arguments) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return false;
  const bool held = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  std::string text(arguments.size() + 1, '\0');
  const ssize_t size = ::read(descriptor, text.data(), text.size());
  ::close(descriptor);
  return held && size == static_cast<ssize_t>(arguments.size()) && text.starts_with(arguments);
}

// The place in `devices` of `device`, which is a UUID or such a place.
std::size_t place_of(const std::string& device, const std::vector<std::string>& devices) {
  const auto found = std::ranges::find(devices, device);
  if (found != devices.end()) return static_cast<std::size_t>(found - devices.begin());
  const auto place = hardware::number_of<std::size_t>(device);
  if (place && *place < devices.size()) return *place;
  throw cage::Error(CAGE_INVALID_ARGUMENT,
                    std::string(field::kMemories) + ": '" + device +
                        "' is neither the UUID nor the place of a device of the claim, which has " +
                        std::to_string(devices.size()));
}

}  // namespace

std::vector<std::string> mps_devices(const std::vector<MpsGroup>& groups) {
  std::vector<std::string> all;
  for (const MpsGroup& group : groups) all.insert(all.end(), group.devices.begin(), group.devices.end());
  std::ranges::sort(all);
  return all;
}

std::vector<std::string> mps_commands(const std::vector<MpsGroup>& groups) {
  std::vector<std::string> commands;
  if (const auto threads = groups.front().settings.thread_percentage)
    commands.push_back("set_default_active_thread_percentage " + std::to_string(*threads));
  std::map<std::string, unsigned long long> limits;
  for (const MpsGroup& group : groups) {
    std::vector<std::string> devices = group.devices;
    std::ranges::sort(devices);  // NVIDIA's driver counts the places of its memory limits in this order
    for (const std::string& device : devices) limits[device] = group.settings.memory_mib.value_or(0);
    for (const auto& [device, mib] : group.settings.memories_mib) limits[devices[place_of(device, devices)]] = mib;
  }
  // Sets limits by number: some versions ignore limits that are set by UUID.
  std::size_t number = 0;
  for (const std::string& device : mps_devices(groups)) {
    if (limits[device] > 0)
      commands.push_back("set_default_device_pinned_mem_limit " + std::to_string(number) + " " +
                         std::to_string(limits[device]) + "M");
    ++number;
  }
  return commands;
}

void Mps::start(const cage::Call& call, std::string_view claim_uid, const std::vector<MpsGroup>& groups) const {
  const MpsSettings& first = groups.front().settings;
  for (const MpsGroup& group : groups)
    if (group.settings.thread_percentage != first.thread_percentage || group.settings.multi_user != first.multi_user)
      throw cage::Error(CAGE_INVALID_ARGUMENT,
                        "one MPS control daemon serves the claim, so all its requests need the same "
                        "defaultActiveThreadPercentage and multiUser; use two claims");
  const fs::path folder = folder_of(claim_uid);
  mount_memory(folder, "mode=0755,size=64m,nr_inodes=4096");
  for (const char* name : {"pipe", "log"}) make_folder(folder / name);
  mount_memory(folder / "shm", "mode=1777");  // at most half of the node's memory

  std::string visible;
  for (const std::string& device : mps_devices(groups)) visible += (visible.empty() ? "" : ",") + device;
  cage::Program program{.name = kProgram,
                        .arguments = {folder, driver_root_, first.multi_user ? "multi-user" : "single-user"},
                        .environment = {"CUDA_VISIBLE_DEVICES=" + visible}};
  std::ranges::copy(mps_commands(groups), std::back_inserter(program.arguments));
  std::string arguments;
  for (const std::string& one : program.arguments) arguments += one + "\n";
  host_.start_service(call, kService, program);
  if (!call.wait_for(kStartLimit, kStartPollInterval, [&] { return is_ready(folder / "ready", arguments + visible); }))
    throw cage::Error(CAGE_UNAVAILABLE,
                      "the MPS control daemon does not respond; its log is in '" + (folder / "log").native() + "'");
}

void Mps::stop(const cage::Call& call, std::string_view claim_uid) const {
  host_.stop_service(call, kService);
  const fs::path folder = folder_of(claim_uid);
  for (const fs::path& one : {folder / "shm", folder})
    if (is_mount_point(one) && ::umount2(one.c_str(), MNT_DETACH) != 0)
      fail("unmounting the memory of MPS at '" + one.native() + "'", errno);
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) host_.warn() << "removing the folder '" << folder.native() << "' of MPS: " << error.message();
}

void Mps::add_to(cage::Edit edit, std::string_view claim_uid) const {
  const fs::path folder = folder_of(claim_uid);
  const std::vector<std::string> options{"rw", "nosuid", "nodev", "noexec", "bind"};
  edit.env("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps");
  edit.mount({.host_path = folder / "pipe", .container_path = "/tmp/nvidia-mps", .options = options});
  edit.mount({.host_path = folder / "shm", .container_path = "/dev/shm", .options = options});
}

}  // namespace cardcage::nvidia
