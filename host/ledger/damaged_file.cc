#include "host/ledger/damaged_file.h"

#include <fmt/chrono.h>

namespace cardcage {
namespace {

Status rename_if_there(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (error && error != std::errc::no_such_file_or_directory)
    return fail_errno(error.value(), fmt::format("cannot set the damaged file '{}' aside", from));
  return {};
}

}  // namespace

Result<std::filesystem::path> set_aside(const std::filesystem::path& file, WallTime now,
                                        std::initializer_list<const char*> suffixes) {
  auto aside = fmt::format("{}.damaged-{:%Y%m%dT%H%M%SZ}", file.native(),
                           fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
  if (auto renamed = rename_if_there(file.native(), aside); !renamed) return std::unexpected(renamed.error());
  for (const char* suffix : suffixes)
    if (auto renamed = rename_if_there(file.native() + suffix, aside + suffix); !renamed)
      return std::unexpected(renamed.error());
  return aside;
}

}  // namespace cardcage
