#include "ctl/import/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <exception>
#include <set>
#include <sstream>

#include "host/core/utf8.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxValues = 100'000;
constexpr std::size_t kMaxTextSize = 16u << 20;
constexpr int kMaxNesting = 64;
constexpr const char* kTooLarge = "the document is too large with its aliases expanded; write fewer aliases (*name)";

struct Refused {
  ConfigErrors::Entry entry;
};

SourcePosition position_of(const YAML::Mark& mark, const std::string& file) {
  if (mark.is_null()) return {file, 0, 0};
  return {file, static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)};
}

// The first document of a text. YAML::LoadAll does not end for some texts, such as "{a: b}, c", from which it reads
// empty documents forever.
struct Document : YAML::EventHandler {
  YAML::Mark start;

  void OnDocumentStart(const YAML::Mark& mark) override { start = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

class Converter {
 public:
  explicit Converter(const std::string& file) : file_(file) {}

  YamlNode convert(const YAML::Node& node, int depth = 0) {
    const SourcePosition position = position_of(node.Mark(), file_);
    if (depth > kMaxNesting) refuse(position, fmt::format("nested deeper than {}; flatten it", kMaxNesting));
    if (values_left_-- == 0) refuse(position, kTooLarge);
    YamlNode made{.position = position};
    if (node.IsScalar()) {
      made.kind = YamlNode::Kind::kScalar;
      made.text = bounded_text(node, position);
      made.quoted = node.Tag() != "?";
    } else if (node.IsSequence()) {
      made.kind = YamlNode::Kind::kList;
      for (const auto& item : node) made.items.push_back(convert(item, depth + 1));
    } else if (node.IsMap()) {
      made.kind = YamlNode::Kind::kMap;
      std::set<std::string> names;
      for (const auto& entry : node) {
        const YAML::Node& key = entry.first;
        const SourcePosition at = position_of(key.Mark(), file_);
        if (!key.IsScalar()) refuse(at, "a key is not a plain word; write KEY: VALUE");
        const std::string name = bounded_text(key, at);
        if (!names.insert(name).second) refuse(at, fmt::format("the key '{}' stands there twice; remove one", name));
        made.members.push_back({name, convert(entry.second, depth + 1), at});
      }
    }
    return made;
  }

 private:
  [[noreturn]] static void refuse(const SourcePosition& position, std::string message) {
    throw Refused{{position, std::move(message)}};
  }

  // An alias may repeat a long text many times.
  const std::string& bounded_text(const YAML::Node& node, const SourcePosition& position) {
    if (node.Scalar().size() > text_left_) refuse(position, kTooLarge);
    text_left_ -= node.Scalar().size();
    return node.Scalar();
  }

  const std::string& file_;
  std::size_t values_left_ = kMaxValues, text_left_ = kMaxTextSize;
};

// Returns the position of the first byte that is not UTF-8; line 0 if there is none. yaml-cpp passes such bytes on.
SourcePosition first_foreign_byte(std::string_view text, const std::string& file) {
  SourcePosition position{file, 1, 1};
  while (!text.empty()) {
    const std::size_t size = utf8_character_size(text);
    if (size == 0) return position;
    ++position.column;
    if (text.front() == '\n') position = {file, position.line + 1, 1};
    text.remove_prefix(size);
  }
  return {file, 0, 0};
}

}  // namespace

const YamlMember* YamlNode::find(std::string_view name) const {
  const auto found = std::ranges::find(members, name, &YamlMember::name);
  return found == members.end() ? nullptr : &*found;
}

std::expected<YamlNode, ConfigErrors::Entry> read_yaml(std::string_view text, const std::string& file) {
  if (const SourcePosition foreign = first_foreign_byte(text, file); foreign.line != 0)
    return std::unexpected(ConfigErrors::Entry{foreign, "not UTF-8; save the file in that encoding"});
  try {
    const std::string copy(text);
    std::istringstream stream(copy);
    YAML::Parser parser(stream);
    Document first, second;
    if (!parser.HandleNextDocument(first)) return YamlNode{.position = {file, 1, 1}};
    if (parser.HandleNextDocument(second))
      return std::unexpected(ConfigErrors::Entry{position_of(second.start, file),
                                                 "a second document begins here; put each into a file of its own"});
    return Converter(file).convert(YAML::Load(copy));
  } catch (const Refused& refused) {
    return std::unexpected(refused.entry);
  } catch (const YAML::Exception& error) {
    return std::unexpected(
        ConfigErrors::Entry{position_of(error.mark, file),
                            fmt::format("not valid YAML: {}; correct the line, or the one above", error.msg)});
  } catch (const std::exception& error) {
    return std::unexpected(ConfigErrors::Entry{{file, 0, 0}, fmt::format("not valid YAML: {}", error.what())});
  }
}

}  // namespace cardcage
