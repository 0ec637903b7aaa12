#include "modules/fpga/duties.h"

#include <algorithm>

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

}  // namespace

Duties merge(Duties earlier, const Duties& later) {
  for (const Duty& duty : later) {
    const auto found = std::ranges::find(earlier, duty.device, &Duty::device);
    if (found == earlier.end()) {
      earlier.push_back(duty);
      continue;
    }
    std::vector<std::string> functions = found->functions;
    for (const std::string& function : duty.functions)
      if (std::ranges::find(functions, function) == functions.end()) functions.push_back(function);
    *found = duty;
    found->functions = std::move(functions);
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
  }
  return text;
}

Duties decode_duties(std::string_view text) {
  Duties duties;
  while (!text.empty()) {
    std::string_view rest = take_until(text, '\n');
    const std::string_view word = take_until(rest, ' ');
    if (word == "device") {
      duties.push_back(
          {.device = std::string(rest), .blank = {}, .scrub_bitstream = {}, .scrub_program = {}, .functions = {}});
      continue;
    }
    if (duties.empty()) continue;
    if (word == "function") duties.back().functions.emplace_back(rest);
    for (const Line& line : kLines)
      if (word == line.word) duties.back().*line.member = std::string(rest);
  }
  return duties;
}

}  // namespace cardcage::fpga
