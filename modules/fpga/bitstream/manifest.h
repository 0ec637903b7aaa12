// A manifest: the TOML file that admits one bitstream to the catalogue.
//
//   description = "loopback"        # one line for people
//   file = "nlb0.gbs"               # in the same folder
//   sha256 = "64 hex digits"        # hash of the approved file
//   interface = "UUID"              # needed only where the header names none; must agree with it
//   function = "UUID"               # the same
//   card = "N3000"                  # only for cards of this model
//   nodes = ["/dev/uio4"]           # files without a header: the device nodes for containers
//   clock_as_is = true              # it runs with the user clock that the card has
//   overlay = "led.dtbo"            # the same: the device-tree overlay whose firmware-name is the file
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cardcage::fpga {

struct Manifest {
  std::string description;
  std::string file;                       // a plain name in the catalogue's folder
  std::string sha256;                     // 64 lower-case digits
  std::string interface_id, function_id;  // normal UUIDs; empty if the manifest leaves them to the header
  std::string card;                       // empty: any model
  std::vector<std::string> nodes;         // device nodes for containers, with a design for the kernel's fpga_manager
  std::string overlay;                    // a plain name, too; empty: none
  bool clock_as_is = false;               // loads although the clock that it was built for cannot be set
};

inline constexpr std::size_t kMostManifestBytes = 65536;

// Throws cage::Error with the line, the cause and the remedy; the caller knows the subject.
Manifest parse_manifest(std::string_view text);

}  // namespace cardcage::fpga
