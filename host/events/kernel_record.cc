#include "host/events/kernel_record.h"

#include <algorithm>

#include "host/core/number.h"
#include "host/core/utf8.h"

namespace cardcage {
namespace {

// The kernel's own limits are 2 KiB for each.
constexpr std::size_t kMaxText = 8192;

// Removes the text up to `end`, and `end` with it; the whole text if `end` is not in it.
std::string_view take_until(std::string_view& text, char end) {
  const std::string_view head = text.substr(0, text.find(end));
  text.remove_prefix(std::min(head.size() + 1, text.size()));
  return head;
}

// The kernel writes a byte that is not printable ASCII, and the backslash, as \xNN.
std::string unescaped(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const auto byte =
        text.starts_with("\\x") && text.size() >= 4 ? number_from<std::uint64_t>(text.substr(2, 2), 16) : std::nullopt;
    plain.push_back(byte ? static_cast<char>(*byte) : text.front());
    text.remove_prefix(byte ? 4 : 1);
  }
  return plain;
}

// Each value of a uevent must be one line.
std::string one_line(std::string_view text) {
  std::string line(text);
  std::ranges::replace(line, '\n', '?');
  return line;
}

}  // namespace

std::optional<KernelMessage> read_kernel_record(std::string_view record) {
  if (!record.contains(';')) return std::nullopt;
  std::string_view prefix = take_until(record, ';');
  const auto priority = number_from<std::uint64_t>(take_until(prefix, ',')),
             sequence = number_from<std::uint64_t>(take_until(prefix, ','));
  const auto microseconds = number_from<std::uint64_t>(take_until(prefix, ','));
  constexpr std::uint64_t kMost = std::uint64_t{1} << 52;  // microseconds; they fit as nanoseconds, too
  if (!priority || !sequence || !microseconds || *microseconds > kMost) return std::nullopt;
  const std::string text = unescaped(take_until(record, '\n'));
  return KernelMessage{Instant(std::chrono::microseconds(*microseconds)), cut_utf8(text, kMaxText)};
}

std::optional<Uevent> read_uevent(std::string_view datagram, Instant now) {
  if (!take_until(datagram, '\0').contains('@')) return std::nullopt;
  Uevent event{.time = now, .subsystem = {}, .text = {}};
  constexpr std::string_view kSubsystem = "SUBSYSTEM=";
  while (!datagram.empty()) {
    const std::string line = one_line(take_until(datagram, '\0'));
    if (line.starts_with(kSubsystem)) event.subsystem = line.substr(kSubsystem.size());
    if (!line.empty()) event.text += line + '\n';
  }
  event.text = cut_utf8(event.text, kMaxText);
  return event;
}

}  // namespace cardcage
