// A library that an image may replace with a newer version than the node's.
#pragma once

#include <string>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

// "libcuda.so.580" is {"libcuda.so.", 580}, and libcuda.so.595.12 is newer.
struct ImageLibrary {
  std::string stem;
  unsigned version = 0;  // the first number

  bool is_older_than(std::string_view file) const;
  // Returns whether `file` is such a library with a full version, "libcuda.so.580.65.06".
  bool names(std::string_view file) const;
};

Result<ImageLibrary> image_library_from(std::string_view newer_than);

}  // namespace cardcage
