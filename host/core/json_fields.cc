#include "host/core/json_fields.h"

#include <algorithm>
#include <boost/json/serialize.hpp>

namespace cardcage {

void write_json(std::string& out, std::string_view value) {
  const auto needs_escape = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; };
  if (std::ranges::any_of(value, needs_escape)) {
    out += json::serialize(json::string_view(value));
    return;
  }
  out += '"';
  out += value;
  out += '"';
}

}  // namespace cardcage
