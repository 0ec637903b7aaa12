#include "modules/common/kernel_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "modules/common/text.h"

namespace cardcage::hardware {

namespace fs = std::filesystem;

namespace {

// Reads a file, which may be relative to `folder`.
Reading read_at(int folder, const char* file) {
  std::array<char, 4096> buffer;  // larger than any attribute on most machines
  const int descriptor = ::openat(folder, file, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {.text = {}, .error = errno};
  Reading reading;
  const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
  if (count < 0) reading.error = errno;
  ::close(descriptor);
  if (count > 0) reading.text.assign(buffer.data(), static_cast<std::size_t>(count));
  if (reading.text.ends_with('\n')) reading.text.pop_back();
  return reading;
}

std::optional<std::uint64_t> value_of(std::string_view text) {
  return text.starts_with("0x") ? number_of<std::uint64_t>(text.substr(2), 16) : number_of<std::uint64_t>(text);
}

}  // namespace

Reading read_attribute(const fs::path& file) { return read_at(AT_FDCWD, file.c_str()); }

std::string text_in(const fs::path& file) { return read_attribute(file).text; }

std::optional<std::uint64_t> number_in(const fs::path& file) { return value_of(text_in(file)); }

Folder::Folder(const fs::path& path) : descriptor_(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

Folder::~Folder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string Folder::text(const char* file) const {
  return descriptor_ >= 0 ? read_at(descriptor_, file).text : std::string();
}

std::optional<std::uint64_t> Folder::number(const char* file) const { return value_of(text(file)); }

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
  std::array<char, 4096> target;
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  if (size <= 0) return {};
  const std::string_view text(target.data(), static_cast<std::size_t>(size));
  return std::string(text.substr(text.rfind('/') + 1));
}

}  // namespace cardcage::hardware
