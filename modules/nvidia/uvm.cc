#include "modules/nvidia/uvm.h"

#include <chrono>

namespace cardcage::nvidia {
namespace {

constexpr std::chrono::seconds kLoadLimit{15};

}  // namespace

Majors majors_with_uvm(const cage::Call& call, cage::Host host, const Node& node) {
  Majors majors = read_majors(node.procfs);
  if (majors.empty() || majors.contains("nvidia-uvm")) return majors;
  try {
    // Loads the module and makes its device nodes: nvidia-modprobe(1).
    const cage::ProgramResult result = host.run(
        call, {.name = "nvidia-modprobe", .arguments = {"-u", "-c=0"}, .environment = {}, .limit = kLoadLimit});
    if (result.exit_status != 0)
      host.warn() << "nvidia-modprobe -u could not load nvidia-uvm: "
                  << (result.timed_out     ? "it did not end in time"
                      : result.err.empty() ? result.out
                                           : result.err);
  } catch (const cage::Error& error) {
    host.warn() << "the kernel module nvidia-uvm is not loaded, and nvidia-modprobe cannot run: " << error.what();
  }
  return read_majors(node.procfs);
}

}  // namespace cardcage::nvidia
