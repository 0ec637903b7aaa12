// A CDI spec file: what its devices and any container that gets one of them receive.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/core/result.h"
#include "host/model/edits.h"

namespace cardcage {

struct CdiDevice {
  std::string name;
  Edits edits;  // never empty: runtimes refuse the whole file otherwise
  friend bool operator==(const CdiDevice&, const CdiDevice&) = default;
};

struct CdiSpec {
  std::string kind;  // "vendor/class"
  std::vector<CdiDevice> devices;
  Edits edits;  // applied once to a container that gets any of the devices, before theirs
  friend bool operator==(const CdiSpec&, const CdiSpec&) = default;
};

// The oldest cdiVersion that has every field used. A runtime drops a whole file whose version it does not know, so
// a newer one than needed costs nodes with an older runtime their devices.
std::string_view lowest_cdi_version(const CdiSpec& spec);

// The file's content; kInvalidArgument for a name that no runtime would accept, no device, two of one name, or one
// without edits.
Result<std::string> serialize_cdi(const CdiSpec& spec);

// Reads what serialize_cdi wrote. kDataLoss for anything else.
Result<CdiSpec> parse_cdi(std::string_view text);

}  // namespace cardcage
