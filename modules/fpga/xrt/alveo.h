// A card of AMD whose shell XRT's drivers run. Containers get its user function; the management function, which can
// flash and reset all of the card, stays with the host.
//
// Source: src/runtime_src/core/pcie/driver/linux/xocl and src/runtime_src/core/tools/xbutil2 of XRT. The ioctls of the
// drivers have different numbers in different releases, so all changes are made by XRT's program.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "modules/fpga/target.h"

namespace cardcage::fpga {

class Alveo final : public Target {
 public:
  // `bus_id` is that of the user function.
  Alveo(const Tools& tools, const std::string& bus_id);

  std::string why_not_confined() const override;
  std::string interface_id() const override;
  Function function() const override;
  std::string why_not_programmable() const override;
  void describe(cage::Device& device) const override;
  void require_fit(const Entry& bitstream) const override;
  void program(const cage::Call& call, const Entry& bitstream) const override;
  // Leaves the card without a function.
  void reset(const cage::Call& call) const override;
  std::string why_not_resettable() const override;
  bool reset_keeps_function() const override { return false; }
  void add_to(cage::Edit edit, const Entry* loaded) const override;

 private:
  bool takes_signed_only() const;
  std::string platform() const;
  std::string why_not_ready() const;
  std::string render_node() const;
  void require_unused(const std::string& purpose, cage_status status) const;
  void run(const cage::Call& call, const std::string& purpose, std::vector<std::string> arguments) const;

  const Tools& tools_;
  const std::filesystem::path folder_;  // folder of the PCI function
};

// XRT's driver of user functions.
inline constexpr const char* kAlveoDriver = "xocl";

// Returns whether a function has the ids of a user function, whatever its driver.
bool is_known_alveo(const hardware::Node& node, const std::string& bus_id);
// Returns null unless XRT's driver has this user function.
std::unique_ptr<Target> find_alveo(const Tools& tools, const std::string& bus_id);

// Returns the management function of the card with this user function; empty if this machine does not have it, such as
// a virtual machine.
std::string management_function_of(const hardware::Node& node, const std::string& bus_id);

// Returns "U250" for "xilinx_u250_gen3x16_xdma_shell_4_1", the name of a shell.
std::string model_of_platform(std::string_view platform);
// Bitstreams may write ':' and '.' in the name of a platform where the card writes '_'.
bool is_same_platform(std::string_view one, std::string_view other);
// Returns the number in the names of the nodes that XRT's drivers make for a PCI function: 25857 for "0000:65:00.1".
std::optional<unsigned> instance_of(std::string_view bus_id);
// Returns "2.15.225" for the driver's "2.15.225,0a1b2c"; empty if that is not a version.
std::string version_of_driver(std::string_view text);
// Returns why the program has failed; empty if it has not.
std::string why_failed(const std::string& program, const cage::ProgramResult& result);

}  // namespace cardcage::fpga
