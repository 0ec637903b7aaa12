#include "modules/nvidia/unbind_lock.h"

#include <algorithm>

#include "modules/common/kernel_files.h"
#include "modules/common/process.h"
#include "modules/nvidia/processes.h"

namespace cardcage::nvidia {

namespace fs = std::filesystem;

UnbindLock::UnbindLock(const Node& node, cage::Host host, std::string uuid, std::string bus_id)
    : node_(node),
      host_(host),
      uuid_(std::move(uuid)),
      bus_id_(std::move(bus_id)),
      file_(node.procfs / "driver/nvidia/gpus" / bus_id_ / "unbindLock") {}

void UnbindLock::take(const cage::Call& call) const {
  std::error_code error;
  if (!fs::exists(file_, error)) return;
  host_.write_file(call, {.device = uuid_, .path = file_, .data = "1\n"});
  if (hardware::text_in(file_) == "1") return;
  const std::string users = who_has_it_open();
  throw cage::Error(
      CAGE_UNAVAILABLE,
      "GPU " + bus_id_ + " cannot be taken from its driver while " +
          (users.empty() ? "a process that cannot be seen from here (hostPID: true shows all)" : "process " + users) +
          " has it open; end it, or wait until it has ended");
}

void UnbindLock::give_back(const cage::Call& call) const noexcept {
  std::error_code error;
  if (!fs::exists(file_, error) || hardware::text_in(file_) != "1") return;
  try {
    host_.write_file(call, {.device = uuid_, .path = file_, .data = "0\n"});
  } catch (const cage::Error& failed) {
    host_.warn() << "GPU " << bus_id_ << " stays locked: " << failed.what() << "; unlock it: echo 0 > "
                 << file_.native();
  }
}

std::string UnbindLock::who_has_it_open() const {
  const auto gpus = read_kernel_gpus(node_.procfs);
  const auto gpu = std::ranges::find(gpus, bus_id_, &KernelGpu::bus_id);
  if (gpu == gpus.end()) return {};
  const fs::path node = node_.devfs / ("nvidia" + std::to_string(gpu->minor));
  return to_text(processes_with_open(node, node_.procfs));
}

}  // namespace cardcage::nvidia
