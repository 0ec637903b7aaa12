// A virtual function of an OFS card: the function of the FPGA that a container drives through VFIO.
#pragma once

#include "modules/fpga/dfl/card.h"
#include "modules/fpga/target.h"

namespace cardcage::fpga {

// Throws FAILED_PRECONDITION, with the holder, while a process has the VFIO group of the function open.
void require_unused(const Tools& tools, const std::string& bus_id);

class VirtualFunction final : public Target {
 public:
  // `bus_id` is that of the virtual function. With `is_part`, a claim for it also gets the other virtual functions of
  // the card.
  VirtualFunction(const Tools& tools, const DflCard& card, const std::string& bus_id, bool is_part);

  bool is_being_programmed() const override;
  std::string interface_id() const override;
  Function function() const override;
  bool shows_function() const override { return false; }
  std::string why_not_programmable() const override;
  void describe(cage::Device& device) const override;
  void require_fit(const Entry& bitstream) const override;
  void program(const cage::Call& call, const Entry& bitstream) const override;
  void reset(const cage::Call& call) const override;
  std::string why_not_resettable() const override;
  std::vector<std::string> functions_to_bind() const override;
  void bind(const cage::Call& call) const override;
  void add_to(cage::Edit edit, const Entry* loaded) const override;

 private:
  std::filesystem::path reset_file() const;

  const Tools& tools_;
  const DflCard card_;
  const bool is_part_;
};

}  // namespace cardcage::fpga
