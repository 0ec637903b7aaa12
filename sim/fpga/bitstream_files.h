// Makes bitstream files in the vendors' formats, and overlays for the kernel's fpga_manager.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cardcage {

struct GbsFile {
  std::string interface_uuid = "69528db6-eb31-577a-8c36-68f9faa081f6";
  std::string function_uuid = "d8424dc4-a4a3-c413-f89e-433683f9040b";
  std::string platform = "DCP_1_0";
  std::string power = "20", clock_high = R"("auto")", clock_low = R"("auto")";  // JSON values
  std::string data = std::string(4096, '\x5a');
  std::optional<std::string> metadata;  // replaces the metadata from the members above
};
std::string make_gbs(const GbsFile& file = {});

// Makes the format before metadata: a magic number and the bytes of the interface's id in reverse order.
std::string make_legacy_gbs(const std::string& interface_uuid, const std::string& data);

struct XclbinSection {
  std::uint32_t kind = 0;
  std::string name, content;
};
struct XclbinFile {
  std::string interface_uuid = "937ed70867cf3350bc06304053f55ba0";
  std::string design_uuid = "11b1a2c3-d4e5-4f60-8172-8394a5b6c7d8";
  std::string vbnv = "xilinx_u250_gen3x16_xdma_shell_4_1";
  std::vector<XclbinSection> sections = {{0, "bitstream", std::string(4096, '\x5a')}, {14, "metadata", "{}"}};
  std::string signature;  // empty: not signed
};
std::string make_xclbin(const XclbinFile& file = {});

// Makes a device-tree overlay whose only fragment has these values of firmware-name.
std::string make_overlay(const std::vector<std::string>& firmware_names);

}  // namespace cardcage
