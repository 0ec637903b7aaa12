#include "modules/common/kernel_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>

namespace cardcage::hardware {

namespace fs = std::filesystem;

Reading read_attribute(const fs::path& file) {
  constexpr std::size_t kLimit = 4096;  // of an attribute, on most machines
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {.text = {}, .error = errno};
  Reading reading{.text = std::string(kLimit, '\0')};
  const ssize_t count = ::read(descriptor, reading.text.data(), kLimit);
  if (count < 0) reading.error = errno;
  ::close(descriptor);
  reading.text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  if (reading.text.ends_with('\n')) reading.text.pop_back();
  return reading;
}

std::string text_in(const fs::path& file) { return read_attribute(file).text; }

std::optional<std::uint64_t> number_in(const fs::path& file) {
  const std::string text = text_in(file);
  const bool is_hexadecimal = text.starts_with("0x");
  const char* const first = text.data() + (is_hexadecimal ? 2 : 0);
  const char* const last = text.data() + text.size();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(first, last, number, is_hexadecimal ? 16 : 10);
  return error == std::errc() && end == last ? std::optional(number) : std::nullopt;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename());
  std::ranges::sort(names);
  return names;
}

fs::path entry_in(const fs::path& folder, std::string_view start) {
  for (const std::string& name : names_in(folder))
    if (name.starts_with(start)) return folder / name;
  return {};
}

std::string target_name(const fs::path& link) {
  std::error_code error;
  return fs::read_symlink(link, error).filename();
}

}  // namespace cardcage::hardware
