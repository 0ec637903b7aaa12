// Devices that nobody may use until they are programmed anew: their programming did not end well, or what a released
// claim has left in them could not be removed.
//
// They are remembered in files, because neither the hardware nor the kernel tells of it after this process was killed.
// The files are in memory (tmpfs): a restart of the node resets the cards, too.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "modules/fpga/duties.h"
#include "modules/fpga/target.h"

namespace cardcage::fpga {

struct Fence {
  std::string why;  // for people
  Duties owed;      // must be done before the device is used: the memory of the last user is still in it
};

class Fences {
 public:
  explicit Fences(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Returns once it is remembered. Throws cage::Error if it cannot be.
  void add(const Identity& device, const Fence& fence) const;
  // Also the fences of its parts, if the device is a card as a whole.
  void remove(const Identity& device) const;
  // Nothing if the device is not fenced. A card as a whole is fenced with each of its parts, and a part with the card.
  std::optional<Fence> find(const Identity& device) const;
  // The duties that the fences of all devices have.
  Duties owed() const;
  // The addresses of the cards that are fenced, or have parts that are.
  std::vector<std::string> cards() const;

 private:
  // The names of the files that fence the device.
  std::vector<std::string> files_of(const Identity& device) const;

  const std::filesystem::path folder_;
};

}  // namespace cardcage::fpga
