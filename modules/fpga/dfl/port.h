// A port of a card: the region behind it, and the registers of the function that is loaded there.
#pragma once

#include "modules/fpga/dfl/card.h"
#include "modules/fpga/target.h"

namespace cardcage::fpga {

class Port final : public Target {
 public:
  Port(const Tools& tools, const DflCard& card, const DflPort& port);

  bool is_being_programmed() const override;
  std::string interface_id() const override;
  Function function() const override;
  std::string why_not_programmable() const override;
  void describe(cage::Device& device) const override;
  void require_fit(const Entry& bitstream) const override;
  bool has_clock(const cage::Call& call, const Entry& bitstream) const override;
  void set_clock(const cage::Call& call, const Entry& bitstream) const override;
  void program(const cage::Call& call, const Entry& bitstream) const override;
  void require_revivable(const cage::Call& call) const override;
  bool revive(const cage::Call& call) const override;
  void reset(const cage::Call& call) const override;
  std::string why_not_resettable() const override;
  void require_idle(const cage::Call& call) const override;
  void clear_errors(const cage::Call& call) const override;
  std::vector<unsigned> ports_to_lend() const override;
  void add_to(cage::Edit edit, const Entry* loaded) const override;

 private:
  bool is_kept_disabled() const;
  [[noreturn]] void throw_held(cage_status status, const std::string& why) const;

  const Tools& tools_;
  const DflCard card_;
  const DflPort port_;
};

// Adds the attributes that all targets of the card have in common.
void describe_card(const hardware::Node& node, const DflCard& card, cage::Device& device);

}  // namespace cardcage::fpga
