// A YAML document as a tree that knows where each value stands. yaml-cpp's exceptions do not leave yaml_document.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/config.h"

namespace cardcage {

struct YamlMember;

struct YamlNode {
  enum class Kind : std::uint8_t { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  std::string text;                 // of a scalar
  bool quoted = false;              // of a scalar: it is a string, whatever it looks like
  std::vector<YamlNode> items;      // of a list
  std::vector<YamlMember> members;  // of a map; names are unique
  SourcePosition position;

  const YamlMember* find(std::string_view name) const;  // null if there is none
};

struct YamlMember {
  std::string name;
  YamlNode value;
  SourcePosition position;  // of the name
};

// Reads the only document of `text`; an empty text reads as null. `file` names it in positions. Refuses a document that
// expands (through aliases) to more than 100,000 values or 16 MiB of text, or nests deeper than 64.
std::expected<YamlNode, ConfigErrors::Entry> read_yaml(std::string_view text, const std::string& file);

}  // namespace cardcage
