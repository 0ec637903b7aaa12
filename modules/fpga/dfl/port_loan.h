// The ports of a card as virtual functions, which a container gets through VFIO: a port is released, becomes a virtual
// function, and is assigned to the card again when the claim is over.
//
// Source: Documentation/fpga/dfl.rst, linux/fpga-dfl.h, drivers/fpga/dfl-pci.c and dfl.c of the kernel. It makes as
// many virtual functions as ports are released, at once, so all ports of a card go together.
#pragma once

#include <string>
#include <vector>

#include "modules/fpga/dfl/card.h"
#include "modules/fpga/target.h"

namespace cardcage::fpga {

class PortLoan {
 public:
  // `numbers` has the numbers of all ports of the card, of which `device` consists.
  PortLoan(const Tools& tools, const Identity& device, std::vector<unsigned> numbers)
      : tools_(tools), device_(device.id), card_(device.card), numbers_(std::move(numbers)) {}

  const std::vector<unsigned>& numbers() const { return numbers_; }
  // Throws FAILED_PRECONDITION unless the node can make virtual functions of the card's ports.
  void require_possible() const;
  // Returns whether all ports are virtual functions that a container can use.
  bool is_made() const;
  // Makes the ports virtual functions. They must be idle. undo() undoes an attempt that failed.
  void make(const cage::Call& call) const;
  // Gives the card its ports back, whichever steps of make() were done; they have new node numbers then. Throws
  // FAILED_PRECONDITION, with the holder, while a virtual function is open.
  void undo(const cage::Call& call) const;
  void add_to(cage::Edit edit) const;

 private:
  void set_function_count(const cage::Call& call, std::size_t count) const;
  void assign(const cage::Call& call, const DflCard& card, unsigned number) const;
  void change_port(const cage::Call& call, const DflCard& card, unsigned long request, unsigned number) const;
  void forget_driver_of(const cage::Call& call, const std::string& function) const;
  bool has_all_ports() const;

  const Tools& tools_;
  const std::string device_, card_;
  const std::vector<unsigned> numbers_;
};

}  // namespace cardcage::fpga
