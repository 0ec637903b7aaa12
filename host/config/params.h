// The parameters of devices: JSON in a ResourceClaim or DeviceClass, checked against the schemas that a module
// declares. No message contains a secret value.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "host/model/module.h"
#include "host/model/option.h"

namespace cardcage {

// The API server refuses larger parameters.
constexpr std::size_t kMaxParameterBytes = 10u << 10;

// One document of parameters, checked.
struct DecodedParams {
  const ParamsSchema* schema = nullptr;  // one of the identity's; null if the module declares none
  OptionValues values;                   // only those written in the document, and the objects around them
  // An error for a value out of its choices or bounds, if the documents of the schema count as a whole. It matters only
  // if this document counts.
  std::optional<Error> flaw = {};
};

// Reads one document. `apiVersion` and `kind` choose the schema. If the module declares no parameters, only the syntax
// is checked. Errors name a field by its path.
Result<DecodedParams> decode_params(const ModuleIdentity& identity, ConfigSource source, std::string_view json);

// True if devices of this kind take the parameters.
bool takes(const ParamsSchema& schema, std::string_view device_kind);

// Returns the parameters of one device: defaults, overridden field by field by `decoded` in rising precedence, or by
// the last of them alone if the schema says so. The last document decides the kind; documents of other kinds do not
// count. Without documents it is the first kind that the device takes; the values are empty() if there is none. Fails
// if a required field is missing.
Result<OptionValues> resolve_params(const ModuleIdentity& identity, std::string_view device_kind,
                                    const std::vector<DecodedParams>& decoded);

}  // namespace cardcage
