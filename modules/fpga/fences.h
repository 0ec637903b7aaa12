// Devices that no claim may use until they are programmed again: their programming did not end well, or the data of a
// released claim could not be removed from them.
//
// Fences are files, because neither the hardware nor the kernel keeps this fact after this process was killed. The
// files are in memory (tmpfs): a restart of the node resets the cards, too.
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
  Duties owed;      // due before the device is used: the last user's memory is still in it
};

class Fences {
 public:
  explicit Fences(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Returns once the fence is written. Throws cage::Error if it cannot be.
  void add(const Identity& device, const Fence& fence) const;
  // Removes the fence of the device and, if it is a card as a whole, those of its parts.
  void remove(const Identity& device) const;
  // Returns nothing if the device is not fenced. A card as a whole is fenced with each of its parts, and a part with
  // the card.
  std::optional<Fence> find(const Identity& device) const;
  // Returns the duties of all fences.
  Duties owed() const;
  // Returns the addresses of the cards that are fenced, or have fenced parts.
  std::vector<std::string> cards() const;

 private:
  // Returns the names of the files that fence the device.
  std::vector<std::string> files_of(const Identity& device) const;

  const std::filesystem::path folder_;
};

}  // namespace cardcage::fpga
