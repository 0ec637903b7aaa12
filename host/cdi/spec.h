// A CDI spec file: the edits that a container gets with each of its devices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/cdi/metadata.h"
#include "host/core/result.h"
#include "host/model/edits.h"

namespace cardcage {

struct CdiDevice {
  std::string name;
  Edits edits;  // never empty, or runtimes would refuse the whole file
  friend bool operator==(const CdiDevice&, const CdiDevice&) = default;
};

struct CdiSpec {
  std::string kind;  // "vendor/class"
  std::vector<CdiDevice> devices;
  Edits edits;  // applied once, before those of the devices, to a container that gets any of them
  std::vector<MetadataFile> files = {};  // files that the devices mount; not part of the spec file
  friend bool operator==(const CdiSpec&, const CdiSpec&) = default;
};

// The oldest cdiVersion that has every field used. A runtime ignores a file whose version it does not know, so with a
// newer version than needed, nodes with an older runtime would lose their devices.
std::string_view lowest_cdi_version(const CdiSpec& spec);

// The content of the file. Fails with kInvalidArgument for a name that no runtime would accept, and unless there is at
// least one device, every name is unique and every device has edits.
Result<std::string> serialize_cdi(const CdiSpec& spec);

// Reads a text of serialize_cdi. Fails with kDataLoss for anything else.
Result<CdiSpec> parse_cdi(std::string_view text);

}  // namespace cardcage
