#include "ctl/yaml_output.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "host/core/ascii.h"

namespace cardcage {
namespace {

namespace json = boost::json;

// Returns true for a text that every YAML reader reads as a string; some read a shorter one as a boolean ("y", "off").
bool is_plain(std::string_view text) {
  return text.size() > 5 && is_letter(text[0]) &&
         std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '-' || c == '.' || c == '/'; });
}

void emit(YAML::Emitter& out, std::string_view text) {
  if (text.contains('\n'))
    out << YAML::Literal;
  else if (!is_plain(text))
    out << YAML::DoubleQuoted;
  out << std::string(text);
}

void emit(YAML::Emitter& out, const json::value& value) {
  if (const auto* object = value.if_object()) {
    out << YAML::BeginMap;
    for (const auto& member : *object) {
      out << YAML::Key << std::string(member.key()) << YAML::Value;
      emit(out, member.value());
    }
    out << YAML::EndMap;
  } else if (const auto* array = value.if_array()) {
    out << YAML::BeginSeq;
    for (const json::value& item : *array) emit(out, item);
    out << YAML::EndSeq;
  } else if (const auto* text = value.if_string()) {
    emit(out, std::string_view(*text));
  } else {
    out << json::serialize(value);
  }
}

}  // namespace

std::string to_yaml(const json::value& value) {
  YAML::Emitter out;
  emit(out, value);
  return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace cardcage
