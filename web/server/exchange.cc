#include "web/server/exchange.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "host/core/ascii.h"

namespace cardcage {
namespace {

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = to_lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Leaves an incomplete escape as it is.
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size();
    const int high = escape ? hex_value(text[i + 1]) : -1;
    const int low = escape ? hex_value(text[i + 2]) : -1;
    if (high >= 0 && low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

// Calls `visit(name, value)` for each "name=value" between separators, until it returns true.
template <class Visit>
void each_pair(std::string_view text, char separator, Visit visit) {
  each_part(text, separator, [&](std::string_view part) {
    while (part.starts_with(' ')) part.remove_prefix(1);
    const std::size_t equals = std::min(part.find('='), part.size());
    return !visit(part.substr(0, equals), part.substr(std::min(equals + 1, part.size())));
  });
}

}  // namespace

std::string_view WebRequest::header(std::string_view name) const {
  for (const auto& [known, value] : headers)
    if (boost::beast::iequals(known, name)) return value;
  return {};
}

std::optional<std::string> WebRequest::parameter(std::string_view name) const {
  std::optional<std::string> found;
  each_pair(query, '&', [&](std::string_view key, std::string_view value) {
    if (decoded(key) == name) found = decoded(value);
    return found.has_value();
  });
  return found;
}

std::string_view WebRequest::cookie(std::string_view name) const {
  std::string_view found;
  for (const auto& [known, cookies] : headers)
    if (boost::beast::iequals(known, "cookie"))
      each_pair(cookies, ';', [&](std::string_view key, std::string_view value) {
        if (key == name) found = value;
        return !found.empty();
      });
  return found;
}

WebResponse error_response(unsigned status, std::string_view message) {
  WebResponse response;
  response.status = status;
  response.body = boost::json::serialize(boost::json::object{{"error", message}});
  return response;
}

WebResponse text_response(unsigned status, std::string text) {
  WebResponse response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::move(text);
  return response;
}

}  // namespace cardcage
