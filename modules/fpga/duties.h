// What a prepare has begun on the hardware, and unprepare owes. It is written into the journal of the claim before the
// hardware is touched, and into its state at the end. The policy of the DeviceClass is part of it, because unprepare
// gets no parameters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cardcage::fpga {

struct Duty {
  std::string device;                  // id of the target
  std::string blank;                   // name of a bitstream
  std::string scrub_bitstream;         // name of a bitstream
  std::string scrub_program;           // of cage.exec
  std::vector<std::string> functions;  // PCI functions with another driver, by bus id
  std::vector<unsigned> ports;         // that are virtual functions meanwhile, by number
  friend bool operator==(const Duty&, const Duty&) = default;
};
using Duties = std::vector<Duty>;

// `later` counts where both have a duty for a device, but functions with another driver and ports stay.
Duties merge(Duties earlier, const Duties& later);

// "device 0000:3b:00.0/port-0", followed by one line for each member that has a value.
std::string encode(const Duties& duties);
// Ignores lines that a later version has written.
Duties decode_duties(std::string_view text);

}  // namespace cardcage::fpga
