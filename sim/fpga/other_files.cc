#include <fmt/format.h>

#include <cerrno>

#include "sim/fpga/tree.h"

namespace cardcage::fake_fpga {
namespace {

std::string lines(const std::vector<std::string>& each) {
  std::string text;
  for (const std::string& line : each) text += line + "\n";
  return text;
}

void add_management(Tree& tree, const PciFunction& function, Xrt& xrt) {
  const std::string folder = folder_of(function.address);
  const unsigned instance = instance_of(function.address);
  tree.file(folder + "/mgmt_pf", "");
  tree.file(folder + "/instance", fmt::format("{}\n", instance));
  tree.file(folder + "/error", "");
  tree.file(folder + "/data_retention", "0\n", [](std::string_view) { return 0; });
  tree.file(folder + "/config_mailbox_channel_disable", fmt::format("0x{:x}\n", xrt.mailbox_channels_disabled),
            [&xrt](std::string_view text) {
              const auto value = kernel_number(text);
              if (!value) return EINVAL;
              xrt.mailbox_channels_disabled = static_cast<unsigned>(*value);
              return 0;
            });
  tree.file(folder + "/mgmt_reset", "", [](std::string_view) { return 0; }).mode = 0200;
  const std::string firewall = fmt::format("{}/firewall.m.{}", folder, instance);
  tree.file(firewall + "/status", fmt::format("{}\n", xrt.firewall_status));
  tree.file(firewall + "/level", fmt::format("{}\n", xrt.firewall_level));
  tree.file(firewall + "/detected_status", fmt::format("{}\n", xrt.firewall_status));
  tree.file(firewall + "/detected_level", fmt::format("{}\n", xrt.firewall_level));
  tree.file(firewall + "/detected_time", "0\n");
  tree.file(firewall + "/clear", "",
            [&xrt](std::string_view) {
              xrt.firewall_level = xrt.firewall_status = 0;
              return 0;
            })
      .mode = 0200;
  tree.file(fmt::format("{}/icap.m.{}/sec_level", folder, instance), fmt::format("{}\n", xrt.security_level));
  tree.node(fmt::format("dev/xclmgmt{}", instance));
}

void add_user(Tree& tree, const Machine& machine, const Card& card, const PciFunction& function, Xrt& xrt) {
  constexpr unsigned kDrmMajor = 226;
  const std::string folder = folder_of(function.address);
  const unsigned instance = instance_of(function.address), minor = card.number("render");
  tree.file(folder + "/user_pf", "");
  const std::string rom = fmt::format("{}/rom.u.{}", folder, instance);
  tree.file(rom + "/VBNV", xrt.vbnv + "\n");
  tree.file(rom + "/timestamp", fmt::format("{}\n", xrt.timestamp));
  tree.file(rom + "/uuid", xrt.rom_uuid + "\n");
  tree.file(rom + "/FPGA", "xcu250-figd2104-2L-e\n");
  tree.file(rom + "/ddr_bank_count_max", "4\n");
  tree.file(folder + "/logic_uuids", lines(xrt.logic_uuids));
  tree.file(folder + "/interface_uuids", lines(xrt.interface_uuids));
  tree.file(folder + "/xclbinuuid", xrt.xclbin_uuid + "\n");
  tree.file(folder + "/ready", fmt::format("0x{:x}\n", xrt.ready));
  tree.file(folder + "/dev_offline", fmt::format("{}\n", xrt.offline));
  tree.file(folder + "/device_bad_state", fmt::format("{}\n", xrt.bad_state));
  tree.file(folder + "/shutdown", fmt::format("{}\n", xrt.shutdown));
  tree.file(folder + "/mig_calibration", fmt::format("{}\n", xrt.calibration));
  tree.file(folder + "/link_speed", fmt::format("{}\n", xrt.link_speed));
  tree.file(folder + "/link_speed_max", fmt::format("{}\n", xrt.max_link_speed));
  tree.file(folder + "/link_width", fmt::format("{}\n", xrt.link_width));
  tree.file(folder + "/link_width_max", fmt::format("{}\n", xrt.max_link_width));
  const std::string xmc = fmt::format("{}/xmc.u.{}", folder, instance);
  tree.file(xmc + "/serial_num", xrt.serial + "\n");
  add_hwmon(tree, xmc, card.number("hwmon/xmc"), xrt.hwmon);
  const std::string render = fmt::format("renderD{}", minor), drm = folder + "/drm/" + render;
  tree.file(drm + "/dev",
            (machine.node_number.empty() ? fmt::format("{}:{}", kDrmMajor, minor) : machine.node_number) + "\n");
  tree.link(drm + "/device", folder);
  tree.link("sys/class/drm/" + render, drm);
  tree.node("dev/dri/" + render);
}

}  // namespace

void add_xrt_files(Tree& tree, Machine& machine, Card& card) {
  for (const PciFunction* function : card.present()) {
    if (function->driver == "xclmgmt") add_management(tree, *function, *card.xrt);
    if (function->driver == "xocl") add_user(tree, machine, card, *function, *card.xrt);
  }
}

void add_soc_files(Tree& tree, Card& card) {
  Soc& soc = *card.soc;
  const std::string device = "sys/devices/platform/" + soc.device;
  const unsigned number = card.number("fpga");
  add_manager(tree, device, number, soc.manager);
  tree.link("sys/bus/platform/devices/" + soc.device, device);
  tree.file(device + "/modalias", "of:NpcapT(null)Cxlnx,zynqmp-pcap-fpga\n");
  const std::string folder = fmt::format("{}/fpga_manager/fpga{}", device, number);
  // The region of the device tree has no compat_id.
  const std::string full = "sys/devices/platform/fpga-full";
  const std::string region = fmt::format("{}/fpga_region/region{}", full, card.number("region/base"));
  tree.file(region + "/compat_id", "").read_error = ENOENT;
  tree.link(region + "/device", full);
  tree.link(fmt::format("sys/class/fpga_region/region{}", card.number("region/base")), region);
  if (!soc.vendor_kernel) return;
  Entry& firmware = tree.file(folder + "/firmware", "", nullptr);
  firmware.mode = 0200;
  firmware.card = &card;
  firmware.takes_firmware = true;
  tree.file(folder + "/flags", fmt::format("{:x}\n", soc.flags), [&soc](std::string_view text) {
    // The kernel also takes hexadecimal numbers without a prefix.
    const auto value = kernel_number(text.starts_with("0x") ? std::string(text) : "0x" + std::string(text));
    if (!value) return EINVAL;
    soc.flags = static_cast<unsigned>(*value);
    return 0;
  });
  tree.file(folder + "/key", "", [](std::string_view) { return 0; }).mode = 0200;
}

}  // namespace cardcage::fake_fpga
