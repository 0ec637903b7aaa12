// A duty is work that unprepare owes for a change that prepare has begun on the hardware. It is written into the
// journal of the claim before the hardware is touched, and into its state at the end. It includes the policy of the
// DeviceClass, because unprepare gets no parameters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cardcage::fpga {

struct Duty {
  std::string device;                  // id of the target
  std::string blank;                   // name of a bitstream
  std::string scrub_bitstream;         // name of a bitstream
  std::string scrub_program;           // name of a program for cage.exec
  std::vector<std::string> functions;  // PCI functions with another driver, by bus id
  std::vector<unsigned> ports;         // numbers of the ports that are virtual functions until then
  friend bool operator==(const Duty&, const Duty&) = default;
};
using Duties = std::vector<Duty>;

// Where both have a duty for a device, `later` wins, but the functions with another driver and the ports of both stay.
Duties merge(Duties earlier, const Duties& later);

// Writes "device 0000:3b:00.0/port-0", followed by one line for each member that has a value.
std::string encode(const Duties& duties);
// Ignores lines that a later version has written.
Duties decode_duties(std::string_view text);

}  // namespace cardcage::fpga
