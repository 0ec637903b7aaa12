#include "host/config/params_json.h"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <set>
#include <vector>

#include "host/config/params.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

namespace json = boost::json;
using boost::system::error_code;

constexpr std::size_t kMaxDepth = 16;

// Sees every name of a document, since parse() silently keeps only the last of equal names.
struct DuplicateFinder {
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  std::vector<std::set<std::string, std::less<>>> open;
  std::string name;
  std::string duplicate;

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) {
    open.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, error_code&) {
    open.pop_back();
    return true;
  }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t, error_code&) { return true; }
  bool on_key_part(json::string_view part, std::size_t, error_code&) {
    name.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view part, std::size_t, error_code&) {
    name.append(part.data(), part.size());
    if (!open.back().insert(name).second) duplicate = name;
    name.clear();
    return true;
  }
  bool on_string_part(json::string_view, std::size_t, error_code&) { return true; }
  bool on_string(json::string_view, std::size_t, error_code&) { return true; }
  bool on_number_part(json::string_view, error_code&) { return true; }
  bool on_int64(std::int64_t, json::string_view, error_code&) { return true; }
  bool on_uint64(std::uint64_t, json::string_view, error_code&) { return true; }
  bool on_double(double, json::string_view, error_code&) { return true; }
  bool on_bool(bool, error_code&) { return true; }
  bool on_null(error_code&) { return true; }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }
};

}  // namespace

Result<json::object> parse_parameters(std::string_view text) {
  if (text.size() > kMaxParameterBytes)
    return fail(Code::kInvalidArgument, "parameters have {} bytes, at most {} are allowed", text.size(),
                kMaxParameterBytes);
  json::parse_options options;
  options.max_depth = kMaxDepth;
  error_code error;
  json::basic_parser<DuplicateFinder> names(options);
  const std::size_t parsed = names.write_some(false, text.data(), text.size(), error);
  if (!error && parsed < text.size()) error = json::error::extra_data;
  if (error) return fail(Code::kInvalidArgument, "parameters are not JSON: {} at byte {}", error.message(), parsed);
  if (!names.handler().duplicate.empty())
    return fail(Code::kInvalidArgument, "parameters have '{}' twice",
                printable(names.handler().duplicate, kQuotedParameter));
  json::value value = json::parse({text.data(), text.size()}, error, {}, options);
  if (error || !value.is_object()) return fail(Code::kInvalidArgument, "parameters are not a JSON object");
  return std::move(value.as_object());
}

}  // namespace cardcage
