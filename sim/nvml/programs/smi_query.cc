// Source: nvidia-smi(1) and its nvsmi_device_v12.dtd; listings of the branches 470, 535, 550 and 575.
#include "sim/nvml/programs/smi_query.h"

#include <array>
#include <cstdio>
#include <optional>
#include <sstream>

#include "sim/nvml/world.h"

namespace cardcage::fake_nvml {
namespace {

constexpr unsigned kMibShift = 20;
constexpr const char* kAbsent = "N/A";

class Xml {
 public:
  template <class Body>
  void element(const std::string& name, const Body& body, const std::string& attribute = {}) {
    line("<" + name + attribute + ">");
    depth_ += 1;
    body();
    depth_ -= 1;
    line("</" + name + ">");
  }
  void text(const std::string& name, const std::string& value) { line("<" + name + ">" + value + "</" + name + ">"); }
  void number(const std::string& name, unsigned long long value, const char* unit = "") {
    text(name, std::to_string(value) + unit);
  }
  void mib(const std::string& name, unsigned long long bytes) { number(name, bytes >> kMibShift, " MiB"); }
  void line(const std::string& words) const { std::printf("%s%s\n", std::string(depth_, '\t').c_str(), words.c_str()); }

 private:
  std::size_t depth_ = 0;
};

std::string brand_name(unsigned brand) {
  constexpr unsigned kTesla = 2, kNvidiaRtx = 13, kNvidia = 14;
  switch (brand) {
    case kTesla: return "Tesla";
    case kNvidiaRtx: return "NVIDIA RTX";
    case kNvidia: return "NVIDIA";
    default: return "Unknown";
  }
}

std::string architecture_name(unsigned architecture) {
  switch (architecture) {
    case nvml::kTuring: return "Turing";
    case nvml::kAmpere: return "Ampere";
    case nvml::kAda: return "Ada Lovelace";
    case nvml::kHopper: return "Hopper";
    case nvml::kBlackwell: return "Blackwell";
    default: return "Unknown";
  }
}

std::string addressing_name(nvml::AddressingMode mode) {
  switch (mode) {
    case nvml::kAddressingHmm: return "HMM";
    case nvml::kAddressingAts: return "ATS";
    default: return "None";
  }
}

std::string action_name(unsigned action) {
  static constexpr std::array kNames{"None", "Reset", "Reboot", "Drain P2P", "Drain and Reset"};
  return action < kNames.size() ? kNames[action] : "Unknown";
}

std::string yes_or_no(bool value) { return value ? "Yes" : "No"; }

std::string watts(unsigned milliwatts) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f W", milliwatts / 1000.0);
  return text.data();
}

unsigned long long used_memory(const Gpu& gpu) {
  unsigned long long used = gpu.memory_used;
  for (unsigned i = 0; i < gpu.process_count; ++i) used += gpu.processes[i].bytes;
  return used;
}

void print_instance(Xml& xml, const Gpu& gpu, unsigned index) {
  const MigDevice& device = gpu.mig_devices[index];
  const Profile& profile = gpu.profiles[gpu.instances[device.gi].profile];
  xml.element("mig_device", [&] {
    xml.number("index", index);
    xml.number("gpu_instance_id", device.gi);
    xml.number("compute_instance_id", device.ci);
    xml.element("device_attributes", [&] {
      xml.element("shared", [&] {
        xml.number("multiprocessor_count", profile.multiprocessors);
        xml.number("copy_engine_count", profile.copy_engines);
        xml.number("encoder_count", profile.encoders);
        xml.number("decoder_count", profile.decoders);
        xml.number("ofa_count", profile.ofa_engines);
        xml.number("jpg_count", profile.jpeg_engines);
      });
    });
    xml.element("fb_memory_usage", [&] { xml.number("total", profile.memory_mib, " MiB"); });
  });
}

void print_mig(Xml& xml, const Gpu& gpu) {
  xml.element("mig_mode", [&] {
    xml.text("current_mig", !gpu.mig_capable ? kAbsent : gpu.mig_mode != 0 ? "Enabled" : "Disabled");
    xml.text("pending_mig", !gpu.mig_capable ? kAbsent : gpu.mig_pending != 0 ? "Enabled" : "Disabled");
  });
  xml.element("mig_devices", [&] {
    bool any = false;
    for (unsigned i = 0; i < kMaxMigDevices; ++i) {
      if (!gpu.mig_devices[i].used) continue;
      print_instance(xml, gpu, i);
      any = true;
    }
    if (!any) xml.line("None");
  });
}

void print_identity(Xml& xml, const Gpu& gpu, unsigned branch) {
  xml.text("product_name", gpu.name);
  xml.text("product_brand", brand_name(gpu.brand));
  if (branch > 470) xml.text("product_architecture", architecture_name(gpu.architecture));
  if (branch >= 580) xml.text("addressing_mode", addressing_name(gpu.addressing));
  print_mig(xml, gpu);
  xml.text("serial", gpu.serial[0] == '\0' ? kAbsent : gpu.serial);
  xml.text("uuid", gpu.uuid);
  xml.number("minor_number", gpu.minor);
  if (branch >= 570)
    xml.element("platformInfo", [&] { xml.number("module_id", gpu.module_id); });
  else if (branch > 470)
    xml.number("gpu_module_id", gpu.module_id);
  if (branch >= 570) xml.text("gpu_recovery_action", action_name(gpu.recovery_action));
  xml.element("pci", [&] {
    xml.text("pci_bus_id", bus_id(gpu, 8, true));
    xml.number("replay_counter", gpu.pcie_replays);
  });
}

void print_fabric(Xml& xml, const Gpu& gpu) {
  static constexpr std::array kStates{kAbsent, "Not Started", "In Progress", "Completed"};
  const nvml::GpuFabricInfo3& info = gpu.fabric;
  const bool completed = info.state == nvml::kFabricCompleted;
  std::string cluster;
  for (std::size_t i = 0; i < sizeof info.clusterUuid; ++i) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", info.clusterUuid[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) cluster += '-';
    cluster += digits.data();
  }
  xml.element("fabric", [&] {
    xml.text("state", kStates[info.state % kStates.size()]);
    xml.text("status", !completed ? kAbsent : info.status == nvml::kSuccess ? "Success" : "Failure");
    xml.text("cliqueId", completed ? std::to_string(info.cliqueId) : kAbsent);
    xml.text("clusterUuid", completed ? cluster : kAbsent);
  });
}

void print_sensors(Xml& xml, const Gpu& gpu, unsigned branch) {
  const std::string reasons = branch > 535 ? "clocks_event_reasons" : "clocks_throttle_reasons";
  xml.element(reasons, [&] {
    const bool idle = (gpu.clock_reasons & nvml::kReasonIdle) != 0;
    xml.text(reasons.substr(0, reasons.size() - 1) + "_gpu_idle", idle ? "Active" : "Not Active");
  });
  xml.element("fb_memory_usage", [&] {
    const unsigned long long used = used_memory(gpu);
    xml.mib("total", gpu.memory_total);
    if (branch > 470) xml.mib("reserved", gpu.memory_reserved);
    xml.mib("used", branch > 470 ? used : used + gpu.memory_reserved);
    xml.mib("free", gpu.memory_total - gpu.memory_reserved - used);
  });
  xml.element("utilization", [&] {
    const bool whole = gpu.mig_mode == 0;
    const auto percent = [&](const char* name, unsigned value) {
      xml.text(name, whole ? std::to_string(value) + " %" : kAbsent);
    };
    percent("gpu_util", gpu.gpu_percent);
    percent("memory_util", gpu.memory_percent);
    percent("encoder_util", gpu.encoder_percent);
    percent("decoder_util", gpu.decoder_percent);
  });
  xml.element("temperature", [&] {
    xml.number("gpu_temp", gpu.temperature, " C");
    xml.text("memory_temp", gpu.memory_temperature == 0 ? kAbsent : std::to_string(gpu.memory_temperature) + " C");
  });
  xml.element(branch >= 535 ? "gpu_power_readings" : "power_readings", [&] {
    xml.text(branch >= 570 ? "average_power_draw" : "power_draw", watts(gpu.power_mw));
    if (branch >= 570) xml.text("instant_power_draw", watts(gpu.power_mw));
  });
  xml.element("clocks", [&] {
    xml.number("sm_clock", gpu.clocks[nvml::kSmClock], " MHz");
    xml.number("mem_clock", gpu.clocks[nvml::kMemoryClock], " MHz");
  });
}

void print_errors(Xml& xml, const Gpu& gpu, nvml::EccCounter counter, unsigned branch) {
  const char* none = gpu.ecc_supported ? "0" : kAbsent;
  const auto errors = [&](nvml::EccErrorType type) {
    return gpu.ecc_supported ? std::to_string(gpu.ecc[type][counter]) : kAbsent;
  };
  xml.element(counter == nvml::kVolatile ? "volatile" : "aggregate", [&] {
    xml.text("sram_correctable", none);
    if (branch > 535) {
      xml.text("sram_uncorrectable_parity", none);
      xml.text("sram_uncorrectable_secded", none);
    } else {
      xml.text("sram_uncorrectable", none);
    }
    xml.text("dram_correctable", errors(nvml::kCorrected));
    xml.text("dram_uncorrectable", errors(nvml::kUncorrected));
  });
}

void print_memory_repair(Xml& xml, const Gpu& gpu, unsigned branch) {
  xml.element("ecc_errors", [&] {
    print_errors(xml, gpu, nvml::kVolatile, branch);
    print_errors(xml, gpu, nvml::kAggregate, branch);
  });
  const auto pages = [&](const char* name, nvml::RetirementCause cause) {
    xml.element(name, [&] {
      xml.text("retired_count", gpu.retires_pages ? std::to_string(gpu.retired_pages[cause]) : kAbsent);
    });
  };
  xml.element("retired_pages", [&] {
    pages("multiple_single_bit_retirement", nvml::kMultipleSingleBit);
    pages("double_bit_retirement", nvml::kDoubleBit);
    xml.text("pending_retirement", gpu.retires_pages ? yes_or_no(gpu.retirement_pending != 0) : kAbsent);
  });
  if (!gpu.remaps_rows) return xml.text("remapped_rows", kAbsent);
  xml.element("remapped_rows", [&] {
    xml.number("remapped_row_corr", gpu.rows.correctableActive);
    xml.number("remapped_row_unc", gpu.rows.uncorrectableActive);
    xml.text("remapped_row_pending", yes_or_no(gpu.rows.pending != 0));
    xml.text("remapped_row_failure", yes_or_no(gpu.rows.failure != 0));
  });
}

std::optional<std::string> column(const Gpu& gpu, const std::string& name, unsigned branch) {
  if (name == "uuid") return gpu.uuid;
  if (name == "compute_cap" && branch > 470)
    return std::to_string(gpu.major) + "." + std::to_string(gpu.minor_capability);
  return std::nullopt;
}

}  // namespace

void print_xml(const State& state, const std::string& cuda_version) {
  const unsigned branch = branch_of(state.kernel_version);
  Xml xml;
  xml.line("<?xml version=\"1.0\" ?>");
  xml.line("<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">");
  xml.element("nvidia_smi_log", [&] {
    xml.text("driver_version", state.kernel_version);
    xml.text("cuda_version", cuda_version);
    for (const Gpu& gpu : state.gpus) {
      if (!gpu.present) continue;
      const auto print_gpu = [&] {
        print_identity(xml, gpu, branch);
        print_sensors(xml, gpu, branch);
        print_memory_repair(xml, gpu, branch);
        if (branch >= 570) print_fabric(xml, gpu);
      };
      xml.element("gpu", print_gpu, " id=\"" + bus_id(gpu, 8, true) + "\"");
    }
  });
}

std::string print_columns(const State& state, const std::string& columns) {
  for (const Gpu& gpu : state.gpus) {
    if (!gpu.present) continue;
    std::string line;
    std::istringstream names(columns);
    for (std::string name; std::getline(names, name, ',');) {
      const auto value = column(gpu, name, branch_of(state.kernel_version));
      if (!value) return name;
      line += (line.empty() ? "" : ", ") + *value;
    }
    std::puts(line.c_str());
  }
  return {};
}

}  // namespace cardcage::fake_nvml
