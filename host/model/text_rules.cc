#include "host/model/text_rules.h"

#include <algorithm>

#include "host/core/ascii.h"
#include "host/core/utf8.h"

namespace cardcage {
namespace {

bool is_word(std::string_view text, std::size_t max) {
  return !text.empty() && text.size() <= max &&
         std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '_'; });
}

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool is_metric_word(std::string_view text) { return is_word(text, 64) && is_letter(text[0]); }

}  // namespace

bool is_utf8(std::string_view text) {
  // Most text is ASCII.
  text.remove_prefix(static_cast<std::size_t>(std::ranges::find_if_not(text, is_ascii) - text.begin()));
  while (!text.empty()) {
    const std::size_t size = utf8_character_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

bool is_line(std::string_view text) { return is_utf8(text) && std::ranges::none_of(text, is_control); }

namespace {

std::string printable(std::string_view text, std::size_t max, std::string_view kept) {
  std::string result;
  while (!text.empty()) {
    const std::size_t size = utf8_character_size(text);
    const std::size_t step = std::max<std::size_t>(size, 1);
    if (result.size() + step > max) break;
    if (size == 0 || (is_control(text[0]) && kept.find(text[0]) == std::string_view::npos))
      result += '?';
    else
      result += text.substr(0, size);
    text.remove_prefix(step);
  }
  return result;
}

}  // namespace

std::string printable(std::string_view text, std::size_t max) { return printable(text, max, ""); }

std::string printable_lines(std::string_view text, std::size_t max) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return printable(text, max, "\n");
}

bool is_device_id(std::string_view text) {
  return !text.empty() && text.size() <= 253 && std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

bool is_entry_name(std::string_view text) { return !text.empty() && text.size() <= 253 && is_line(text); }

bool is_camel_case(std::string_view text, std::size_t max) {
  return !text.empty() && text.size() <= max && is_upper(text[0]) && std::ranges::all_of(text, is_alphanumeric);
}

bool is_env_name(std::string_view text) {
  return !text.empty() && text.size() <= 256 && !is_digit(text[0]) &&
         std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '_' || c == '-' || c == '.'; });
}

bool is_clean_path(std::string_view text) {
  if (text.size() < 2 || text.size() > 4095 || text[0] != '/' || !is_line(text)) return false;
  return each_part(text.substr(1), '/',
                   [](std::string_view part) { return !part.empty() && part != "." && part != ".."; });
}

bool is_interface_name(std::string_view text) {
  return !text.empty() && text.size() <= 15 && text != "." && text != ".." &&
         std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f && c != '/' && c != ':'; });
}

bool is_option_name(std::string_view text) { return is_word(text, 32) && is_letter(text[0]); }

bool is_param_path(std::string_view text) {
  const auto is_name = [](std::string_view part) { return is_word(part, 64) && is_letter(part[0]); };
  return text.size() <= 128 && std::ranges::count(text, '.') < 8 && each_part(text, '.', is_name);
}

bool is_metric_name(std::string_view text) {
  return is_metric_word(text) && (std::ranges::none_of(text, is_upper) || std::ranges::none_of(text, is_lower)) &&
         text != "ALERTS" && text != "ALERTS_FOR_STATE";
}

bool is_metric_label(std::string_view text) {
  // The host adds the first ones; Prometheus adds the others or gives them a meaning.
  static constexpr std::string_view kReserved[] = {"module", "device",    "id",    "served_by", "namespace",
                                                   "pod",    "container", "claim", "uid",       "node",
                                                   "name",   "instance",  "job",   "le",        "quantile"};
  return is_metric_word(text) && std::ranges::find(kReserved, text) == std::end(kReserved);
}

}  // namespace cardcage
