#include "modules/fpga/bitstream/manifest.h"

#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "modules/fpga/bitstream/bitstream.h"
#include "modules/fpga/bitstream/nearest.h"
#include "modules/fpga/bitstream/uuid.h"

namespace cardcage::fpga {
namespace {

// toml++ makes a nested table for each part of a dotted key, and destroys the tables recursively.
constexpr std::ptrdiff_t kMostDots = 1000;
constexpr std::size_t kLongestDescription = 256, kLongestFileName = 255, kLongestCard = 64, kMostNodes = 16;

std::string line_of(const toml::source_region& source) { return "line " + std::to_string(source.begin.line) + ": "; }

[[noreturn]] void refuse_value(const toml::node& node, std::string_view key, const std::string& expected) {
  refuse(line_of(node.source()) + "'" + std::string(key) + "' must be " + expected);
}

const std::string& text_in(const toml::node& node, std::string_view key, const std::string& expected) {
  if (!node.is_string()) refuse_value(node, key, expected);
  return node.as_string()->get();
}

bool has_control_characters(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
}

std::string plain_name(const toml::node& node, std::string_view key) {
  const std::string expected = "the name of a file in the same folder, without '/' and not hidden";
  const std::string& name = text_in(node, key, expected);
  if (name.empty() || name.size() > kLongestFileName || name[0] == '.' || name.find('/') != std::string::npos ||
      has_control_characters(name))
    refuse_value(node, key, expected);
  return name;
}

std::string uuid_in(const toml::node& node, std::string_view key) {
  const std::string expected = "a UUID: 32 hexadecimal digits, with or without dashes";
  std::string uuid = normal_uuid(text_in(node, key, expected));
  if (uuid.empty()) refuse_value(node, key, expected);
  return uuid;
}

std::string short_text(const toml::node& node, std::string_view key, std::size_t most) {
  const std::string expected = "a text of 1 to " + std::to_string(most) + " bytes in one line";
  const std::string& text = text_in(node, key, expected);
  if (text.empty() || text.size() > most || has_control_characters(text)) refuse_value(node, key, expected);
  return text;
}

// Returns false for nodes that let a container program the card or reset all of it.
bool may_be_given(std::string_view node) {
  const std::filesystem::path path(node);
  return node.starts_with("/dev/") && node.size() <= kLongestFileName && path.lexically_normal().native() == node &&
         path.has_filename() && !has_control_characters(node) && !node.starts_with("/dev/dfl-fme") &&
         !node.starts_with("/dev/xclmgmt");
}

std::vector<std::string> nodes_in(const toml::node& node, std::string_view key) {
  const std::string expected =
      "a list of at most " + std::to_string(kMostNodes) + " device nodes below /dev, none of which manages a card";
  if (!node.is_array() || node.as_array()->size() > kMostNodes) refuse_value(node, key, expected);
  std::vector<std::string> nodes;
  for (const toml::node& element : *node.as_array()) {
    const std::string& path = text_in(element, key, expected);
    if (!may_be_given(path)) refuse_value(element, key, expected);
    nodes.push_back(path);
  }
  return nodes;
}

struct Key {
  std::string name;
  std::function<void(const toml::node&, std::string_view key, Manifest&)> take;
};

const std::vector<Key>& keys() {
  using toml::node;
  static const std::vector<Key> all = {
      {"description",
       [](const node& n, auto key, Manifest& m) { m.description = short_text(n, key, kLongestDescription); }},
      {"file", [](const node& n, auto key, Manifest& m) { m.file = plain_name(n, key); }},
      {"sha256",
       [](const node& n, auto key, Manifest& m) {
         const std::string expected = "64 hexadecimal digits, as sha256sum prints them";
         m.sha256 = hex_digits(text_in(n, key, expected), 64);
         if (m.sha256.empty()) refuse_value(n, key, expected);
       }},
      {"interface", [](const node& n, auto key, Manifest& m) { m.interface_id = uuid_in(n, key); }},
      {"function", [](const node& n, auto key, Manifest& m) { m.function_id = uuid_in(n, key); }},
      {"card", [](const node& n, auto key, Manifest& m) { m.card = short_text(n, key, kLongestCard); }},
      {"nodes", [](const node& n, auto key, Manifest& m) { m.nodes = nodes_in(n, key); }},
      {"clock_as_is",
       [](const node& n, auto key, Manifest& m) {
         if (!n.is_boolean()) refuse_value(n, key, "true or false");
         m.clock_as_is = n.as_boolean()->get();
       }},
      {"overlay", [](const node& n, auto key, Manifest& m) { m.overlay = plain_name(n, key); }},
  };
  return all;
}

[[noreturn]] void refuse_key(const toml::key& key) {
  std::vector<std::string> names;
  std::string listed;
  for (const Key& known : keys()) {
    names.push_back(known.name);
    listed += (listed.empty() ? "" : ", ") + known.name;
  }
  const std::string hint = nearest_hint(key.str(), names);
  refuse(line_of(key.source()) + "unknown key '" + printable(key.str()) + "'" +
         (hint.empty() ? "; a manifest may have " + listed : hint));
}

toml::table parse_toml(std::string_view text) {
  if (std::ranges::count(text, '.') > kMostDots)
    refuse("it has more than " + std::to_string(kMostDots) + " dots; a manifest describes one bitstream");
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    refuse(line_of(error.source()) + "not valid TOML: " + printable(error.description(), 200));
  }
}

}  // namespace

Manifest parse_manifest(std::string_view text) {
  const toml::table table = parse_toml(text);
  Manifest manifest;
  for (const auto& [key, value] : table) {
    const auto known = std::ranges::find(keys(), key.str(), &Key::name);
    if (known == keys().end()) refuse_key(key);
    known->take(value, key.str(), manifest);
  }
  if (manifest.file.empty()) refuse("it names no bitstream; add file = \"<its name in this folder>\"");
  if (manifest.sha256.empty())
    refuse("it does not say which content was approved; add sha256 = \"<what sha256sum prints for " +
           printable(manifest.file) + ">\"");
  return manifest;
}

}  // namespace cardcage::fpga
