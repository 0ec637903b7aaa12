#include "host/apiserver/yaml.h"

#include <yaml-cpp/yaml.h>

#include <stdexcept>
#include <string>

namespace cardcage {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxValues = 100'000;
constexpr int kMaxNesting = 64;

// For plain scalars only; quoted ones are always strings.
json::value typed(const YAML::Node& node) {
  if (bool flag = false; YAML::convert<bool>::decode(node, flag)) return flag;
  if (std::int64_t number = 0; YAML::convert<std::int64_t>::decode(node, number)) return number;
  if (double number = 0; YAML::convert<double>::decode(node, number)) return number;
  return json::value(node.Scalar());
}

json::value convert(const YAML::Node& node, std::size_t& left, int depth) {
  if (left-- == 0 || depth > kMaxNesting)
    throw YAML::Exception(node.Mark(), "the document is too large or nested too deep");
  switch (node.Type()) {
    case YAML::NodeType::Scalar: return node.Tag() == "!" ? json::value(node.Scalar()) : typed(node);
    case YAML::NodeType::Sequence: {
      json::array array;
      for (const auto& item : node) array.push_back(convert(item, left, depth + 1));
      return array;
    }
    case YAML::NodeType::Map: {
      json::object object;
      for (const auto& entry : node) object[entry.first.as<std::string>()] = convert(entry.second, left, depth + 1);
      return object;
    }
    default: return nullptr;
  }
}

}  // namespace

Result<json::value> parse_yaml(std::string_view text, std::string_view what) {
  try {
    std::size_t left = kMaxValues;
    return convert(YAML::Load(std::string(text)), left, 0);
  } catch (const YAML::Exception& error) {
    return fail(Code::kInvalidArgument, "{} is not valid YAML: line {}, column {}: {}", what, error.mark.line + 1,
                error.mark.column + 1, error.msg);
  } catch (const std::exception& error) {
    return fail(Code::kInvalidArgument, "{} is not valid YAML: {}", what, error.what());
  }
}

}  // namespace cardcage
