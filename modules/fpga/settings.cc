#include "modules/fpga/settings.h"

#include <fnmatch.h>

#include <algorithm>

#include "modules/fpga/bitstream/uuid.h"

namespace cardcage::fpga {

Settings settings_of(const cage::Allocation& allocation) {
  if (!allocation.has_params()) return {};
  const cage::Values values = allocation.params();
  Settings settings{.bitstream = std::string(values.text(field::kBitstream)),
                    .function = {},
                    .always = values.text(field::kReprogram) == "Always",
                    .virtual_functions = values.boolean(field::kVirtual),
                    .allowed = {},
                    .blank = std::string(values.text(field::kBlank)),
                    .scrub_bitstream = std::string(values.text(field::kScrubBitstream)),
                    .scrub_program = std::string(values.text(field::kScrubProgram))};
  if (const std::string_view function = values.text(field::kFunction); !function.empty()) {
    settings.function = normal_uuid(function);
    if (settings.function.empty())
      throw cage::Error(CAGE_INVALID_ARGUMENT, "function '" + std::string(function) +
                                                   "' is not a UUID; write it as d8424dc4-a4a3-c413-f89e-433683f9040b");
  }
  for (const std::string_view pattern : values.list(field::kAllowed)) settings.allowed.emplace_back(pattern);
  const auto allows = [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), settings.bitstream.c_str(), 0) == 0;
  };
  if (!settings.bitstream.empty() && !settings.allowed.empty() && std::ranges::none_of(settings.allowed, allows))
    throw cage::Error(CAGE_PERMISSION_DENIED, "the DeviceClass does not allow the bitstream '" + settings.bitstream +
                                                  "'; choose one of its allowedBitstreams");
  if (!settings.scrub_bitstream.empty() && settings.scrub_program.empty())
    throw cage::Error(CAGE_INVALID_ARGUMENT,
                      "scrub.bitstream has no effect without scrub.program; give both in the DeviceClass");
  return settings;
}

}  // namespace cardcage::fpga
