// The progress of a module's call, as the module reports it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>

namespace cardcage {

struct Progress {
  std::optional<std::uint32_t> percent;
  std::string text;  // for people; may be empty
  friend bool operator==(const Progress&, const Progress&) = default;
};

// "40 %, writing the bitstream"
inline std::string to_string(const Progress& progress) {
  if (!progress.percent) return progress.text;
  return fmt::format("{} %{}{}", *progress.percent, progress.text.empty() ? "" : ", ", progress.text);
}

}  // namespace cardcage
