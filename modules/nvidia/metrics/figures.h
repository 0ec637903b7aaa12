// The figures that the module reports: names, types, units and labels are those of dcgm-exporter, so that its
// dashboards and alerts work.
//
// Source: NVIDIA, dcgm-exporter, etc/default-counters.csv and etc/dcp-metrics-included.csv; dcgm_fields.h for others.
#pragma once

#include <cardcage/sdk.hpp>

namespace cardcage::nvidia {

using Figure = cage::Metric<7>;
using XidFigure = cage::Metric<9>;

namespace figures {

// A label without a value is left out.
inline constexpr auto kLabels =
    cage::texts("gpu", "UUID", "pci_bus_id", "modelName", "GPU_I_PROFILE", "GPU_I_ID", "DCGM_FI_DRIVER_VERSION");
constexpr Figure gauge(std::string_view name, std::string_view help) {
  return {CAGE_METRIC_GAUGE, name, help, kLabels};
}
constexpr Figure counter(std::string_view name, std::string_view help) {
  return {CAGE_METRIC_COUNTER, name, help, kLabels};
}

inline constexpr Figure
    sm_clock = gauge("DCGM_FI_DEV_SM_CLOCK", "clock of the multiprocessors in MHz"),
    memory_clock = gauge("DCGM_FI_DEV_MEM_CLOCK", "clock of the memory in MHz"),
    temperature = gauge("DCGM_FI_DEV_GPU_TEMP", "temperature of the GPU in degrees Celsius"),
    memory_temperature = gauge("DCGM_FI_DEV_MEMORY_TEMP", "temperature of the memory in degrees Celsius"),
    power = gauge("DCGM_FI_DEV_POWER_USAGE", "power draw in W"),
    energy = counter("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "energy since the driver was loaded in mJ"),
    pcie_replays = counter("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "packets that were sent again over PCIe"),
    utilization = gauge("DCGM_FI_DEV_GPU_UTIL", "time in which a kernel ran, in percent"),
    memory_utilization = gauge("DCGM_FI_DEV_MEM_COPY_UTIL", "time in which memory was read or written, in percent"),
    encoder_utilization = gauge("DCGM_FI_DEV_ENC_UTIL", "use of the video encoder in percent"),
    decoder_utilization = gauge("DCGM_FI_DEV_DEC_UTIL", "use of the video decoder in percent"),
    memory_free = gauge("DCGM_FI_DEV_FB_FREE", "free memory in MiB"),
    memory_used = gauge("DCGM_FI_DEV_FB_USED", "used memory in MiB"),
    memory_reserved = gauge("DCGM_FI_DEV_FB_RESERVED", "memory that the driver keeps for itself in MiB"),
    nvlink_traffic = counter("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "data sent and received over all NVLinks in KiB");

inline constexpr XidFigure last_xid = {CAGE_METRIC_GAUGE, "DCGM_FI_DEV_XID_ERRORS",
                                       "number of the last XID, 0 if there was none since the module started",
                                       cage::texts("gpu", "UUID", "pci_bus_id", "modelName", "GPU_I_PROFILE",
                                                   "GPU_I_ID", "DCGM_FI_DRIVER_VERSION", "err_code", "err_msg")};

inline constexpr Figure
    uncorrectable_remapped = counter("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
                                     "rows of memory that were replaced because of uncorrectable errors"),
    correctable_remapped = counter("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
                                   "rows of memory that were replaced because of correctable errors"),
    remap_failure = gauge("DCGM_FI_DEV_ROW_REMAP_FAILURE", "1 if a row of memory could not be replaced"),
    ecc_single_volatile = counter("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "single-bit memory errors since the last reset"),
    ecc_double_volatile = counter("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "double-bit memory errors since the last reset"),
    ecc_single_aggregate = counter("DCGM_FI_DEV_ECC_SBE_AGG_TOTAL", "single-bit memory errors of the card's life"),
    ecc_double_aggregate = counter("DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", "double-bit memory errors of the card's life"),
    retired_single = counter("DCGM_FI_DEV_RETIRED_SBE", "pages of memory retired because of single-bit errors"),
    retired_double = counter("DCGM_FI_DEV_RETIRED_DBE", "pages of memory retired because of double-bit errors"),
    retired_pending = counter("DCGM_FI_DEV_RETIRED_PENDING", "1 if pages of memory are retired at the next restart"),
    power_violation = counter("DCGM_FI_DEV_POWER_VIOLATION", "time with a clock limited by power in ns"),
    thermal_violation = counter("DCGM_FI_DEV_THERMAL_VIOLATION", "time with a clock limited by heat in ns"),
    sync_boost_violation = counter("DCGM_FI_DEV_SYNC_BOOST_VIOLATION", "time with a clock limited by sync boost in ns"),
    board_limit_violation =
        counter("DCGM_FI_DEV_BOARD_LIMIT_VIOLATION", "time with a clock limited by the board in ns"),
    low_util_violation = counter("DCGM_FI_DEV_LOW_UTIL_VIOLATION", "time with a clock limited by low use in ns"),
    reliability_violation =
        counter("DCGM_FI_DEV_RELIABILITY_VIOLATION", "time with a clock limited by reliability in ns");

// Means between two collections; Hopper and later.
inline constexpr Figure graphics_active =
                            gauge("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "time in which the GPU computed or drew, 0 to 1"),
                        tensor_active =
                            gauge("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "time in which the tensor cores worked, 0 to 1"),
                        dram_active =
                            gauge("DCGM_FI_PROF_DRAM_ACTIVE", "share of the memory's bandwidth that was used, 0 to 1"),
                        pcie_sent = gauge("DCGM_FI_PROF_PCIE_TX_BYTES", "data sent over PCIe in bytes per second"),
                        pcie_received =
                            gauge("DCGM_FI_PROF_PCIE_RX_BYTES", "data received over PCIe in bytes per second");

// Figures that are reported only if the operator names them.
inline constexpr Figure
    memory_total = gauge("DCGM_FI_DEV_FB_TOTAL", "memory of the GPU in MiB"),
    memory_used_share = gauge("DCGM_FI_DEV_FB_USED_PERCENT", "used share of the memory that is not reserved, 0 to 1"),
    video_clock = gauge("DCGM_FI_DEV_VIDEO_CLOCK", "clock of the video engines in MHz"),
    clock_reasons = gauge("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "why the clocks are limited, as bits"),
    clock_reasons_old = gauge("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "why the clocks are limited, as bits"),
    power_limit = gauge("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "power limit in W"),
    default_power_limit = gauge("DCGM_FI_DEV_POWER_MGMT_LIMIT_DEF", "power limit after a restart in W"),
    slowdown_temperature = gauge("DCGM_FI_DEV_SLOWDOWN_TEMP", "temperature that slows the GPU in degrees Celsius"),
    shutdown_temperature = gauge("DCGM_FI_DEV_SHUTDOWN_TEMP", "temperature that stops the GPU in degrees Celsius"),
    link_generation = gauge("DCGM_FI_DEV_PCIE_LINK_GEN", "generation of the PCIe link"),
    link_width = gauge("DCGM_FI_DEV_PCIE_LINK_WIDTH", "lanes of the PCIe link"),
    max_link_generation = gauge("DCGM_FI_DEV_PCIE_MAX_LINK_GEN", "highest generation of the PCIe link"),
    max_link_width = gauge("DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", "most lanes of the PCIe link"),
    remap_pending = gauge("DCGM_FI_DEV_ROW_REMAP_PENDING", "1 if a row of memory is replaced at the next reset"),
    ecc_mode = gauge("DCGM_FI_DEV_ECC_CURRENT", "1 if errors of the memory are corrected"),
    persistence_mode_figure = gauge("DCGM_FI_DEV_PERSISTENCE_MODE", "1 if the driver keeps the GPU ready"),
    compute_mode_figure = gauge("DCGM_FI_DEV_COMPUTE_MODE", "compute mode, as NVML numbers it");

inline constexpr auto defaults = std::tie(
    sm_clock, memory_clock, temperature, memory_temperature, power, energy, pcie_replays, utilization,
    memory_utilization, encoder_utilization, decoder_utilization, last_xid, memory_free, memory_used, memory_reserved,
    nvlink_traffic, uncorrectable_remapped, correctable_remapped, remap_failure, ecc_single_volatile,
    ecc_double_volatile, ecc_single_aggregate, ecc_double_aggregate, retired_single, retired_double, retired_pending,
    power_violation, thermal_violation, sync_boost_violation, board_limit_violation, low_util_violation,
    reliability_violation, graphics_active, tensor_active, dram_active, pcie_sent, pcie_received);
inline constexpr auto extras = std::tie(memory_total, memory_used_share, video_clock, clock_reasons, clock_reasons_old,
                                        power_limit, default_power_limit, slowdown_temperature, shutdown_temperature,
                                        link_generation, link_width, max_link_generation, max_link_width, remap_pending,
                                        ecc_mode, persistence_mode_figure, compute_mode_figure);
inline constexpr auto all = std::tuple_cat(defaults, extras);

}  // namespace figures
}  // namespace cardcage::nvidia
