#include "modules/fpga/whole_card.h"

#include <algorithm>

#include "modules/fpga/dfl/engine.h"
#include "modules/fpga/dfl/port.h"
#include "modules/fpga/dfl/user_clock.h"
#include "modules/fpga/dfl/virtual_function.h"
#include "modules/fpga/inventory.h"

namespace cardcage::fpga {
namespace {

Identity card_identity(const DflCard& card) {
  return {.id = card.bus_id,
          .name = name_of_card(card.bus_id),
          .kind = "card",
          .card = card.bus_id,
          .bus_id = card.bus_id,
          .model = card.model};
}

}  // namespace

Targets parts_of(const Tools& tools, const DflCard& card, bool as_whole) {
  Targets parts;
  for (const DflPort& port : card.ports)
    if (port.has_function) parts.push_back(std::make_unique<Port>(tools, card, port));
  if (card.is_ofs())
    for (const std::string& function : card.virtual_functions)
      parts.push_back(std::make_unique<VirtualFunction>(tools, card, function, as_whole));
  return parts;
}

WholeCard::WholeCard(const Tools& tools, const DflCard& card)
    : Target(card_identity(card)), tools_(tools), card_(card), parts_(parts_of(tools, card, true)) {}

std::string WholeCard::interface_id() const { return card_.engine ? card_.engine->interface_id : std::string(); }

Function WholeCard::function() const {
  Function common;
  for (const auto& part : parts_) {
    const Function one = part->function();
    if (one.id.empty()) return one;
    if (!common.id.empty() && common.id != one.id)
      return {.id = {}, .why = "its regions have different functions: " + common.id + ", " + one.id};
    common = one;
  }
  return common;
}

std::string WholeCard::why_not_programmable() const { return fpga::why_not_programmable(card_); }

bool WholeCard::is_being_programmed() const { return card_.engine && is_programming(*card_.engine); }

void WholeCard::describe(cage::Device& device) const {
  describe_card(tools_.node, card_, device);
  device.capacity(card_.is_ofs() ? "virtualFunctions" : "ports",
                  cage::Quantity::count(static_cast<std::int64_t>(parts_.size())));
}

void WholeCard::require_fit(const Entry& bitstream) const {
  fpga::require_fit(card_, bitstream);
  if (card_.ports.empty()) require_clock(tools_, card_, DflPort(), bitstream);
  for (const DflPort& port : card_.ports)
    if (!port.is_lent) require_clock(tools_, card_, port, bitstream);
}

bool WholeCard::has_clock(const cage::Call& call, const Entry& bitstream) const {
  const auto wanted = clock_for(bitstream);
  return !wanted || std::ranges::all_of(card_.ports, [&](const DflPort& port) {
    return UserClock(tools_, card_, port, identity().id).suits(call, *wanted);
  });
}

void WholeCard::set_clock(const cage::Call& call, const Entry& bitstream) const {
  const auto wanted = clock_for(bitstream);
  if (!wanted) return;
  for (const DflPort& port : card_.ports) UserClock(tools_, card_, port, identity().id).set(call, *wanted);
}

void WholeCard::program(const cage::Call& call, const Entry& bitstream) const {
  if (card_.is_ofs()) {
    program_region(call, tools_, card_, card_.first_port(), identity().id, bitstream);
    return;
  }
  for (const auto& part : parts_) part->program(call, bitstream);
}

void WholeCard::reset(const cage::Call& call) const {
  for (const auto& part : parts_) part->reset(call);
}

std::string WholeCard::why_not_resettable() const {
  for (const auto& part : parts_)
    if (const std::string why = part->why_not_resettable(); !why.empty()) return part->identity().id + ": " + why;
  return {};
}

void WholeCard::clear_errors(const cage::Call& call) const {
  for (const auto& part : parts_) part->clear_errors(call);
  clear_engine_errors(call, tools_, card_, identity().id);
}

std::vector<std::string> WholeCard::functions_to_bind() const {
  std::vector<std::string> all;
  for (const auto& part : parts_)
    for (std::string& function : part->functions_to_bind()) all.push_back(std::move(function));
  return all;
}

void WholeCard::bind(const cage::Call& call) const {
  for (const auto& part : parts_) part->bind(call);
}

std::vector<unsigned> WholeCard::ports_to_lend() const {
  if (card_.is_ofs())
    throw cage::Error(CAGE_FAILED_PRECONDITION, "card " + identity().card +
                                                    " is given as its virtual functions always; leave "
                                                    "virtualFunctions out of the claim");
  std::vector<unsigned> numbers;
  for (const DflPort& port : card_.ports) numbers.push_back(port.number);
  return numbers;
}

void WholeCard::add_to(cage::Edit edit, const Entry* loaded) const {
  for (const auto& part : parts_) part->add_to(edit, loaded);
}

}  // namespace cardcage::fpga
