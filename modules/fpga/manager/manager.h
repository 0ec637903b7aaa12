// An FPGA that the kernel's fpga_manager programs: the fabric of a SoC such as Zynq, or a chip behind a serial bus.
//
// Mainline kernels program it when a device-tree overlay is applied. The kernels of AMD and of some boards have the
// folder device-tree/overlays in configfs for that, and AMD's has the attribute `firmware`, too, for bitstreams without
// devices of their own.
//
// Source: Documentation/ABI/testing/sysfs-class-fpga-manager and Documentation/devicetree/bindings/fpga of the kernel;
// drivers/of/configfs.c and drivers/fpga/fpga-mgr.c of AMD's kernel.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "modules/fpga/target.h"

namespace cardcage::fpga {

class Manager final : public Target {
 public:
  // `folder` has the attributes of the manager.
  Manager(const Tools& tools, Identity identity, std::filesystem::path folder);

  Function function() const override;
  bool shows_function() const override { return false; }
  std::string why_not_programmable() const override;
  void describe(cage::Device& device) const override;
  void require_fit(const Entry& bitstream) const override;
  void program(const cage::Call& call, const Entry& bitstream) const override;
  // Removes the devices of the loaded design, if an overlay of this module brought them.
  void reset(const cage::Call& call) const override;
  std::string why_not_resettable() const override {
    return "an FPGA of a system on chip is programmed again instead, by the next claim that names a bitstream";
  }
  bool reset_keeps_function() const override { return false; }
  // Adds the nodes of the bitstream, because the FPGA has none of its own.
  void add_to(cage::Edit edit, const Entry* loaded) const override;

 private:
  bool takes_files() const;
  bool takes_overlays() const;
  std::filesystem::path overlay() const;
  void write(const cage::Call& call, const std::filesystem::path& file, std::string data) const;
  // Returns the name that makes the kernel load the bitstream. Throws FAILED_PRECONDITION unless the kernel would find
  // the file of the catalogue.
  std::string name_for_kernel(const Entry& bitstream) const;
  void load(const cage::Call& call, const Entry& bitstream) const;
  void apply_overlay(const cage::Call& call, const std::string& name) const;
  void remove_overlay() const;
  void wait_for_nodes(const cage::Call& call, const Entry& bitstream) const;

  const Tools& tools_;
  const std::filesystem::path folder_;
};

// Adds the FPGAs of the node that are not PCI functions.
void add_managers(const Tools& tools, Targets& targets);

// Returns "state 'write error', reconfig CRC error", for people.
std::string state_of(const std::filesystem::path& manager);

// Returns "fpga-pcap", a DNS label, for the device "firmware:zynqmp-firmware:pcap".
std::string name_of_manager(std::string_view device);
// Returns "KV260" for "ZynqMP KV260 revB", the model in the device tree; all of it, up to 64 bytes, if no word looks
// like a product.
std::string board_of(std::string_view model);

}  // namespace cardcage::fpga
