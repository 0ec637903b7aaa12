#include "host/core/duration.h"

#include <array>
#include <charconv>
#include <cstdint>

#include "host/core/ascii.h"

namespace cardcage {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};
constexpr std::array<Unit, 6> kUnits{{{"h", 3'600'000'000'000},
                                      {"m", 60'000'000'000},
                                      {"s", 1'000'000'000},
                                      {"ms", 1'000'000},
                                      {"us", 1'000},
                                      {"ns", 1}}};

template <class... Args>
std::unexpected<Error> refuse(std::string_view text, fmt::format_string<Args...> format, Args&&... args) {
  return fail(Code::kInvalidArgument, "'{}' is not a duration: {}", text.substr(0, 64),
              fmt::format(format, std::forward<Args>(args)...));
}

// Everything up to the next digit.
std::string_view unit_name(std::string_view rest) {
  std::size_t end = 0;
  while (end < rest.size() && !is_digit(rest[end])) ++end;
  return rest.substr(0, end);
}

}  // namespace

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  if (text.empty()) return refuse(text, "write a number with a unit, like \"30s\"");
  std::int64_t total = 0;
  const Unit* smallest = nullptr;
  for (std::string_view rest = text; !rest.empty();) {
    std::int64_t number = 0;
    const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (problem == std::errc::result_out_of_range) return refuse(text, "it is too long");
    if (problem != std::errc() || !is_digit(rest.front()))
      return refuse(text, "write a whole number with a unit, like \"30s\"");
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    const std::string_view name = unit_name(rest);
    const Unit* unit = nullptr;
    for (const Unit& known : kUnits)
      if (known.name == name) unit = &known;
    if (name.empty()) return refuse(text, "the unit is missing; one of h, m, s, ms, us, ns");
    if (!unit) return refuse(text, "unknown unit '{}'; one of h, m, s, ms, us, ns", name.substr(0, 16));
    if (smallest && unit <= smallest) return refuse(text, "write larger units first, like \"1h30m\"");
    smallest = unit;
    rest.remove_prefix(name.size());
    std::int64_t part = 0;
    if (__builtin_mul_overflow(number, unit->nanoseconds, &part) || __builtin_add_overflow(total, part, &total))
      return refuse(text, "it is too long");
  }
  return std::chrono::nanoseconds(total);
}

std::string format_duration(std::chrono::nanoseconds duration) {
  if (duration.count() == 0) return "0s";
  std::string text = duration.count() < 0 ? "-" : "";
  // Unsigned, because the lowest signed number has no positive counterpart.
  auto rest = static_cast<std::uint64_t>(duration.count());
  if (duration.count() < 0) rest = ~rest + 1;
  for (const Unit& unit : kUnits) {
    const auto size = static_cast<std::uint64_t>(unit.nanoseconds);
    if (rest >= size) text += fmt::format("{}{}", rest / size, unit.name);
    rest %= size;
  }
  return text;
}

}  // namespace cardcage
