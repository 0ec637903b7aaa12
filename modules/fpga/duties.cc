#include "modules/fpga/duties.h"

#include <algorithm>
#include <charconv>

namespace cardcage::fpga {
namespace {

struct Line {
  std::string_view word;
  std::string Duty::* member;
};
constexpr Line kLines[] = {
    {"blank", &Duty::blank}, {"scrub-bitstream", &Duty::scrub_bitstream}, {"scrub-program", &Duty::scrub_program}};

std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

// Returns the first list, and behind it the items that only the second list has.
template <class Item>
std::vector<Item> joined(std::vector<Item> first, const std::vector<Item>& second) {
  for (const Item& item : second)
    if (std::ranges::find(first, item) == first.end()) first.push_back(item);
  return first;
}

}  // namespace

Duties merge(Duties earlier, const Duties& later) {
  for (const Duty& duty : later) {
    const auto found = std::ranges::find(earlier, duty.device, &Duty::device);
    if (found == earlier.end()) {
      earlier.push_back(duty);
      continue;
    }
    auto functions = joined(found->functions, duty.functions);
    auto ports = joined(found->ports, duty.ports);
    *found = duty;
    found->functions = std::move(functions);
    found->ports = std::move(ports);
  }
  return earlier;
}

std::string encode(const Duties& duties) {
  std::string text;
  for (const Duty& duty : duties) {
    text += "device " + duty.device + "\n";
    for (const Line& line : kLines)
      if (!(duty.*line.member).empty()) text += std::string(line.word) + " " + duty.*line.member + "\n";
    for (const std::string& function : duty.functions) text += "function " + function + "\n";
    for (const unsigned port : duty.ports) text += "port " + std::to_string(port) + "\n";
  }
  return text;
}

Duties decode_duties(std::string_view text) {
  Duties duties;
  while (!text.empty()) {
    std::string_view rest = take_until(text, '\n');
    const std::string_view word = take_until(rest, ' ');
    if (word == "device") {
      duties.push_back({.device = std::string(rest),
                        .blank = {},
                        .scrub_bitstream = {},
                        .scrub_program = {},
                        .functions = {},
                        .ports = {}});
      continue;
    }
    if (duties.empty()) continue;
    if (word == "function") duties.back().functions.emplace_back(rest);
    unsigned port = 0;
    if (word == "port" && std::from_chars(rest.data(), rest.data() + rest.size(), port).ec == std::errc())
      duties.back().ports.push_back(port);
    for (const Line& line : kLines)
      if (word == line.word) duties.back().*line.member = std::string(rest);
  }
  return duties;
}

}  // namespace cardcage::fpga
