#include "host/instance/declared_parts.h"

#include "host/sinks/borrowed.h"

namespace cardcage {
namespace {

bool is_watched(std::string_view text) { return !text.empty() && text.size() <= kMaxWatchedText && is_line(text); }

Result<std::vector<std::string>> copy_texts(const cage_str* texts, std::uint32_t count, std::string_view list) {
  const auto given = items_of(texts, count, kMaxWatched, list);
  if (!given) return std::unexpected(given.error());
  std::vector<std::string> copied;
  for (const cage_str& one : *given) {
    auto text = ruled_text(one, is_watched, "text", "one line of UTF-8 of 1 to 128 bytes");
    if (!text) return within(text.error(), "entry {} of {}", copied.size(), list);
    copied.push_back(std::move(*text));
  }
  return copied;
}

}  // namespace

Result<WatchDeclaration> copy_watch(const cage_watch& family) {
  auto kernel_log = copy_texts(family.kernel_log, family.kernel_log_count, "kernel_log");
  if (!kernel_log) return std::unexpected(std::move(kernel_log.error()));
  auto uevents = copy_texts(family.uevents, family.uevent_count, "uevents");
  if (!uevents) return std::unexpected(std::move(uevents.error()));
  return WatchDeclaration{std::move(*kernel_log), std::move(*uevents)};
}

}  // namespace cardcage
