// A YAML document as a tree with the position of each value. yaml-cpp's exceptions do not leave yaml_document.cc.
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
  std::string text;                 // scalar's text
  bool quoted = false;              // a quoted scalar is a string in any form
  std::vector<YamlNode> items;      // list items
  std::vector<YamlMember> members;  // map members; names are unique
  SourcePosition position;

  const YamlMember* find(std::string_view name) const;  // null if there is none
};

struct YamlMember {
  std::string name;
  YamlNode value;
  SourcePosition position;  // position of the name
};

// Reads the only document of `text`; an empty text reads as null. `file` names it in positions. Refuses a document that
// expands (through aliases) to more than 100,000 values or 16 MiB of text, or nests deeper than 64.
std::expected<YamlNode, ConfigErrors::Entry> read_yaml(std::string_view text, const std::string& file);

}  // namespace cardcage
