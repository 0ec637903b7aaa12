#include "sim/nvml/product.h"

#include <toml++/toml.h>

#include <stdexcept>

#include "sim/nvml/built_files.h"
#include "sim/nvml/world.h"

namespace cardcage::fake_nvml {
namespace {

using View = toml::node_view<const toml::node>;

unsigned required(const toml::table& table, std::string_view path) {
  const auto found = table.at_path(path).value<std::int64_t>();
  if (!found) throw std::runtime_error("the product has no " + std::string(path));
  return static_cast<unsigned>(*found);
}

int optional(const toml::table& table, std::string_view path, int otherwise = 0) {
  return table.at_path(path).value_or(otherwise);
}

std::vector<unsigned> numbers(View list) {
  std::vector<unsigned> made;
  if (const toml::array* array = list.as_array()) {
    for (const toml::node& node : *array) made.push_back(node.value_or(0u));
  }
  return made;
}

void copy_numbers(const toml::table& table, const char* key, unsigned (&to)[kMaxStarts], unsigned count) {
  const std::vector<unsigned> found = numbers(table[key]);
  if (found.size() != count || count > kMaxStarts) throw std::runtime_error(std::string("bad length of ") + key);
  std::copy(found.begin(), found.end(), to);
}

Profile profile_from(const toml::table& table) {
  Profile made{};
  made.index = required(table, "index");
  made.id = required(table, "id");
  made.slices = required(table, "slices");
  made.instances = required(table, "instances");
  made.placement_size = required(table, "size");
  made.start_count = static_cast<unsigned>(numbers(table["starts"]).size());
  copy_numbers(table, "starts", made.starts, made.start_count);
  copy_numbers(table, "gi_ids", made.gi_ids, made.start_count);
  made.multiprocessors = required(table, "multiprocessors");
  made.memory_mib = required(table, "memory_mib");
  made.copy_engines = required(table, "engines.copy");
  made.decoders = required(table, "engines.decoder");
  made.encoders = required(table, "engines.encoder");
  made.jpeg_engines = required(table, "engines.jpeg");
  made.ofa_engines = required(table, "engines.ofa");
  made.capabilities = required(table, "capabilities");
  copy_text(made.name, sizeof made.name, table["name"].value_or(std::string()));
  return made;
}

void fill_identity(Product& product, const toml::table& table) {
  Gpu& gpu = product.gpu;
  gpu.present = true;
  copy_text(gpu.name, sizeof gpu.name, table["name"].value_or(std::string()));
  gpu.brand = required(table, "brand");
  gpu.architecture = required(table, "architecture");
  gpu.major = required(table, "compute_capability[0]");
  gpu.minor_capability = required(table, "compute_capability[1]");
  gpu.addressing = static_cast<nvml::AddressingMode>(optional(table, "addressing_mode"));
  product.serial_prefix = table["serial"].value_or(std::string());
  product.module_ids = numbers(table["module_ids"]);
  constexpr unsigned kVendor = 0x10de;
  gpu.pci_id = required(table, "pci.device") << 16 | kVendor;
  gpu.pci_subsystem = required(table, "pci.subsystem");
  product.pci_class = required(table, "pci.class");
  for (const unsigned mib : numbers(table.at_path("pci.bars_mib"))) product.bars_mib.push_back(mib);
  product.drm = table.at_path("pci.drm").value_or(false);
  gpu.pcie_generation = gpu.pcie_max_generation = required(table, "pci.generation");
  gpu.pcie_width = gpu.pcie_max_width = required(table, "pci.width");
}

void fill_sensors(Gpu& gpu, const toml::table& table) {
  gpu.memory_supported = true;
  gpu.memory_total = std::uint64_t{required(table, "memory.total_mib")} << 20;
  gpu.memory_reserved = std::uint64_t{required(table, "memory.reserved_mib")} << 20;
  gpu.bar1_total = std::uint64_t{required(table, "memory.bar1_mib")} << 20;
  gpu.persistence = nvml::kEnabled;
  gpu.power_mw = required(table, "power.draw_w") * 1000;
  gpu.power_limit_mw = gpu.power_default_mw = required(table, "power.limit_w") * 1000;
  gpu.energy_mj = 1'000'000;
  gpu.clocks[nvml::kGraphicsClock] = gpu.clocks[nvml::kSmClock] = required(table, "clocks.graphics");
  gpu.clocks[nvml::kMemoryClock] = required(table, "clocks.memory");
  gpu.clocks[nvml::kVideoClock] = required(table, "clocks.video");
  gpu.clock_reasons = nvml::kReasonIdle;
  gpu.temperature = required(table, "temperature.core");
  gpu.memory_temperature = static_cast<unsigned>(optional(table, "temperature.memory"));
  const auto threshold = [&](const char* path) { return static_cast<unsigned>(optional(table, path)); };
  gpu.thresholds[nvml::kShutdownTemperature] = threshold("temperature.shutdown");
  gpu.thresholds[nvml::kSlowdownTemperature] = threshold("temperature.slowdown");
  gpu.thresholds[nvml::kMemoryMaxTemperature] = threshold("temperature.memory_max");
  gpu.thresholds[nvml::kGpuMaxTemperature] = threshold("temperature.max");
  gpu.margin = optional(table, "temperature.margin");
  gpu.shutdown_tlimit = optional(table, "temperature.shutdown_tlimit");
  gpu.slowdown_tlimit = optional(table, "temperature.slowdown_tlimit");
  gpu.memory_tlimit = optional(table, "temperature.memory_tlimit");
  gpu.max_tlimit = optional(table, "temperature.max_tlimit");
}

void fill_repair(Gpu& gpu, const toml::table& table) {
  gpu.ecc_supported = true;
  gpu.ecc_mode = gpu.ecc_pending = table.at_path("ecc.enabled").value_or(true) ? nvml::kEnabled : nvml::kDisabled;
  gpu.retires_pages = table.at_path("ecc.retired_pages").value_or(false);
  gpu.banks.max = static_cast<unsigned>(optional(table, "ecc.remap_banks"));
  gpu.remaps_rows = gpu.banks.max > 0;
}

void fill_links(Product& product, const toml::table& table) {
  Gpu& gpu = product.gpu;
  gpu.link_count = std::min(static_cast<unsigned>(optional(table, "nvlink.links")), kMaxLinks);
  product.switches = static_cast<unsigned>(optional(table, "nvlink.switches"));
  gpu.fabric.state = static_cast<unsigned char>(optional(table, "fabric.state"));
  if (gpu.fabric.state == nvml::kFabricNotSupported) gpu.fabric.status = nvml::kNotSupported;
  gpu.supported_events = nvml::kEventSingleBitEcc | nvml::kEventDoubleBitEcc | nvml::kEventXid;
  if (gpu.architecture < nvml::kAmpere) return;
  gpu.supported_events |= nvml::kEventSingleBitEccStorm | nvml::kEventDramRetirement |
                          nvml::kEventDramRetirementFailure | nvml::kEventNonFatalPoison | nvml::kEventFatalPoison |
                          nvml::kEventGpuUnavailable | nvml::kEventRecoveryAction;
}

void fill_mig(Gpu& gpu, const toml::table& table) {
  const toml::array* profiles = table.at_path("mig.profiles").as_array();
  if (profiles == nullptr) return;
  gpu.mig_capable = true;
  gpu.mig_resetless = table.at_path("mig.resetless").value_or(false);
  gpu.mig_max_devices = required(table, "mig.devices");
  gpu.supported_events |= nvml::kEventMigConfigChange;
  for (const toml::node& node : *profiles) gpu.profiles[gpu.profile_count++] = profile_from(*node.as_table());
}

}  // namespace

Product load_product(const std::string& name) {
  const toml::table table = toml::parse_file((products_folder() / (name + ".toml")).native());
  Product product{};
  fill_identity(product, table);
  fill_sensors(product.gpu, table);
  fill_repair(product.gpu, table);
  fill_links(product, table);
  fill_mig(product.gpu, table);
  return product;
}

}  // namespace cardcage::fake_nvml
