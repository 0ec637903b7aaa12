// Names of objects, which identify them among those of their kind.
#pragma once

#include <string>

#include "host/apiserver/json_view.h"

namespace cardcage {

inline std::string name_of(const json::object& object) {
  return std::string(text_at(object_at(object, "metadata"), "name"));
}
inline std::string namespace_of(const json::object& object) {
  return std::string(text_at(object_at(object, "metadata"), "namespace"));
}
// "namespace/name"
inline std::string key_of(const json::object& object) { return namespace_of(object) + "/" + name_of(object); }

}  // namespace cardcage
