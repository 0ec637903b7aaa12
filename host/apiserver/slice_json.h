// Writes and reads a ResourceSlice as JSON of resource.k8s.io v1, v1beta2 and v1beta1.
#pragma once

#include "host/apiserver/json_view.h"
#include "host/model/slice.h"

namespace cardcage {

// The versions in order of preference, newest first. v1beta1 wraps the content of a device in `basic`.
enum class ResourceApi { kV1, kV1beta2, kV1beta1 };
std::string_view to_string(ResourceApi version);

// Writes keys in a fixed order, so that equal slices have equal texts.
json::object slice_to_json(const Slice& slice, ResourceApi version);

// Reads any version. Fails without identity, driver or pool. Leaves out parts of devices that cannot be read (from a
// later release, or written by hand): the slice then differs from ours and is published again.
Result<Slice> slice_from_json(const json::value& value);

}  // namespace cardcage
