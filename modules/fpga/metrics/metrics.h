// Metrics of cards, from the monitor's last look. A scrape touches no hardware, because a card that is being programmed
// would block it.
#pragma once

#include <cardcage/sdk.hpp>
#include <map>
#include <string>

#include "modules/fpga/health/monitor.h"

namespace cardcage::fpga {
namespace figures {

inline constexpr auto temperature =
    cage::gauge("fpga_temperature_celsius", "temperature by sensor of the card", "card", "chip", "sensor");
inline constexpr auto power = cage::gauge("fpga_power_watts", "power by sensor of the card", "card", "chip", "sensor");
inline constexpr auto port_errors =
    cage::gauge("fpga_port_errors", "bits that are set in the error register of the port", "card", "port");
inline constexpr auto engine_errors = cage::gauge(
    "fpga_engine_errors", "bits that are set in an error register of the management engine", "card", "register");
inline constexpr auto throttling =
    cage::gauge("fpga_port_throttling_ratio", "how much the function of the port is slowed down, 1 if it is stopped",
                "card", "port");
inline constexpr auto link_width = cage::gauge("fpga_pcie_link_lanes", "lanes of the PCIe link", "card");
inline constexpr auto link_speed =
    cage::gauge("fpga_pcie_link_transfers_per_second", "transfers per second of a lane of the PCIe link", "card");
inline constexpr auto pcie_errors = cage::counter(
    "fpga_pcie_errors_total", "errors that PCIe's Advanced Error Reporting has counted", "card", "severity");

inline constexpr auto all =
    std::tie(temperature, power, port_errors, engine_errors, throttling, link_width, link_speed, pcie_errors);

}  // namespace figures

// A figure of a card is a sample of its device. If the card has several devices, the sample belongs to none, and the
// label `card` names the card.
void report_metrics(const std::map<std::string, Monitor::Card>& cards, cage::Samples& samples);

}  // namespace cardcage::fpga
