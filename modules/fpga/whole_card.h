// A card with all its parts, for a claim that does not share it.
#pragma once

#include "modules/fpga/dfl/card.h"
#include "modules/fpga/target.h"

namespace cardcage::fpga {

class WholeCard final : public Target {
 public:
  WholeCard(const Tools& tools, const DflCard& card);

  bool is_being_programmed() const override;
  std::string interface_id() const override;
  // Returns the function that all parts have.
  Function function() const override;
  bool shows_function() const override { return !card_.is_ofs(); }
  std::string why_not_programmable() const override;
  void describe(cage::Device& device) const override;
  void require_fit(const Entry& bitstream) const override;
  bool has_clock(const cage::Call& call, const Entry& bitstream) const override;
  void set_clock(const cage::Call& call, const Entry& bitstream) const override;
  // Loads the bitstream into every region of the card.
  void program(const cage::Call& call, const Entry& bitstream) const override;
  void reset(const cage::Call& call) const override;
  std::string why_not_resettable() const override;
  void clear_errors(const cage::Call& call) const override;
  std::vector<std::string> functions_to_bind() const override;
  void bind(const cage::Call& call) const override;
  std::vector<unsigned> ports_to_lend() const override;
  void add_to(cage::Edit edit, const Entry* loaded) const override;

 private:
  const Tools& tools_;
  const DflCard card_;
  const Targets parts_;
};

// Returns the ports of a card, or its virtual functions: each as a target, or as parts of the whole card.
Targets parts_of(const Tools& tools, const DflCard& card, bool as_whole);

}  // namespace cardcage::fpga
