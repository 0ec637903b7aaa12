// A ResourceSlice as JSON of resource.k8s.io v1, v1beta2 and v1beta1.
#pragma once

#include "host/apiserver/json_view.h"
#include "host/model/slice.h"

namespace cardcage {

// Newest first; the order of preference. v1beta1 wraps what a device has in `basic`.
enum class ResourceApi { kV1, kV1beta2, kV1beta1 };
std::string_view to_string(ResourceApi version);

// Keys in a fixed order, so that equal slices are equal text.
json::object slice_to_json(const Slice& slice, ResourceApi version);

// Any version. Identity, driver and pool must be there. Of the devices, what cannot be read (of a later release, or
// written by hand) is left out: the slice then compares as different from ours and is published again.
Result<Slice> slice_from_json(const json::value& value);

}  // namespace cardcage
