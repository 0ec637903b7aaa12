#include "host/hook/library_cache.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "host/core/ascii.h"

namespace cardcage {
namespace {

constexpr std::string_view kOldMagic = "ld.so-1.7.0", kMagic = "glibc-ld.so.cache1.1";
struct OldHeader {
  char magic[12];
  std::uint32_t libraries;
};
constexpr std::size_t kOldEntry = 12;
struct Header {
  char magic[20];
  std::uint32_t libraries, bytes_of_text;
  std::uint8_t flags, padding[3];
  std::uint32_t extension;  // offset, or 0
  std::uint32_t unused[3];
};
struct Entry {
  std::int32_t flags;
  std::uint32_t name, path;  // offsets of text
  std::uint32_t os_version;
  std::uint64_t hwcap;
};
static_assert(sizeof(OldHeader) == 16 && sizeof(Header) == 48 && sizeof(Entry) == 24);

constexpr std::uint32_t kExtensionMagic = 0xeaa42174;
struct Section {
  std::uint32_t tag, flags, offset, size;
};
constexpr std::uint32_t kGeneratorTag = 0, kHwcapsTag = 1;
constexpr std::uint8_t kLittleEndian = 2;
constexpr std::uint64_t kRefersToHwcaps = std::uint64_t{1} << 62;  // the lower half is an index of the table
// The hook's memory and time count as the container's. No image comes near these limits.
constexpr std::size_t kMaxLibraries = 1u << 16, kMaxLibraryText = 4096, kMaxAllText = 16u << 20, kMaxSections = 16,
                      kMaxHwcaps = 256, kMaxGenerator = 4096;
// Libraries of libc6 for programs of 64 bits: FLAG_ELF_LIBC6 and FLAG_X8664_LIB64 or FLAG_AARCH64_LIB64.
#ifdef __aarch64__
constexpr std::int32_t kNativeFlags = 0x0a03;
#else
constexpr std::int32_t kNativeFlags = 0x0303;
#endif

template <class T>
std::optional<T> object_at(std::string_view bytes, std::size_t offset) {
  T object;
  if (offset > bytes.size() || bytes.size() - offset < sizeof object) return std::nullopt;
  std::memcpy(&object, bytes.data() + offset, sizeof object);
  return object;
}

std::optional<std::string> text_at(std::string_view bytes, std::size_t offset) {
  if (offset >= bytes.size()) return std::nullopt;
  const std::string_view text = bytes.substr(offset, kMaxLibraryText);
  const auto end = text.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(0, end));
}

std::size_t aligned(std::size_t offset, std::size_t to) { return (offset + to - 1) / to * to; }

// The loader's search order, _dl_cache_libcmp: numbers by value, and after everything else.
int compare(const char* a, const char* b) {
  while (*a != '\0') {
    if (is_digit(*a) && is_digit(*b)) {
      std::uint32_t left = 0, right = 0;
      for (; is_digit(*a); ++a) left = left * 10 + static_cast<std::uint32_t>(*a - '0');
      for (; is_digit(*b); ++b) right = right * 10 + static_cast<std::uint32_t>(*b - '0');
      if (left != right) return static_cast<std::int32_t>(left - right);
    } else if (is_digit(*a) || is_digit(*b)) {
      return is_digit(*a) ? 1 : -1;
    } else if (*a != *b) {
      return *a - *b;
    } else {
      ++a;
      ++b;
    }
  }
  return *a - *b;
}

// The format 1.1 part. Offsets of text are relative to its start.
std::string_view new_format(std::string_view bytes) {
  if (!bytes.starts_with(kOldMagic)) return bytes;
  const auto old = object_at<OldHeader>(bytes, 0);
  if (!old) return {};
  const std::size_t begin = aligned(sizeof(OldHeader) + std::size_t{old->libraries} * kOldEntry, alignof(Entry));
  return begin < bytes.size() ? bytes.substr(begin) : std::string_view();
}

void append(std::string& to, const auto& object) { to.append(reinterpret_cast<const char*>(&object), sizeof object); }

}  // namespace

std::optional<LibraryCache> LibraryCache::read(std::string_view bytes) {
  LibraryCache cache;
  const std::string_view ours = new_format(bytes);
  const auto header = object_at<Header>(ours, 0);
  if (!header || !ours.starts_with(kMagic) || header->libraries > kMaxLibraries) return std::nullopt;
  if (header->extension != 0 && !cache.read_extension(bytes, ours, header->extension)) return std::nullopt;
  std::size_t all_text = 0;
  for (std::size_t i = 0; i < header->libraries; ++i) {
    const auto entry = object_at<Entry>(ours, sizeof(Header) + i * sizeof(Entry));
    if (!entry) return std::nullopt;
    auto name = text_at(ours, entry->name), path = text_at(ours, entry->path);
    const bool lacks_table =
        (entry->hwcap & kRefersToHwcaps) != 0 && static_cast<std::uint32_t>(entry->hwcap) >= cache.hwcaps_.size();
    if (!name || !path || lacks_table) return std::nullopt;
    all_text += name->size() + path->size();
    if (all_text > kMaxAllText) return std::nullopt;
    cache.libraries_.push_back({.flags = entry->flags,
                                .os_version = entry->os_version,
                                .hwcap = entry->hwcap,
                                .name = std::move(*name),
                                .path = std::move(*path)});
  }
  return cache;
}

// Offsets in the extension are relative to the file, except for text.
bool LibraryCache::read_extension(std::string_view file, std::string_view cache, std::uint32_t offset) {
  const auto magic = object_at<std::uint32_t>(file, offset);
  const auto count = object_at<std::uint32_t>(file, std::size_t{offset} + 4);
  if (!count || *magic != kExtensionMagic || *count > kMaxSections) return false;
  for (std::size_t i = 0; i < *count; ++i) {
    const auto section = object_at<Section>(file, std::size_t{offset} + 8 + i * sizeof(Section));
    if (!section || section->offset > file.size() || file.size() - section->offset < section->size) return false;
    if (section->tag == kGeneratorTag)
      generator_ = file.substr(section->offset, std::min<std::size_t>(section->size, kMaxGenerator));
    if (section->tag != kHwcapsTag) continue;
    for (std::size_t at = 0; at + 4 <= section->size; at += 4) {
      auto name = text_at(cache, *object_at<std::uint32_t>(file, section->offset + at));
      if (!name || hwcaps_.size() == kMaxHwcaps) return false;
      hwcaps_.push_back(std::move(*name));
    }
  }
  return true;
}

void LibraryCache::put(const std::map<std::string, std::string>& path_by_name) {
  std::erase_if(libraries_,
                [&](const Library& known) { return known.flags == kNativeFlags && path_by_name.contains(known.name); });
  const auto descends = [](const std::string& a, const std::string& b) { return compare(a.c_str(), b.c_str()) > 0; };
  for (const auto& [name, path] : path_by_name)
    libraries_.insert(std::ranges::upper_bound(libraries_, name, descends, &Library::name),
                      {.flags = kNativeFlags, .os_version = 0, .hwcap = 0, .name = name, .path = path});
}

std::string LibraryCache::bytes() const {
  std::string text;
  const std::size_t text_begin = sizeof(Header) + libraries_.size() * sizeof(Entry);
  const auto store = [&](const std::string& one) {
    const auto offset = static_cast<std::uint32_t>(text_begin + text.size());
    text.append(one).push_back('\0');
    return offset;
  };
  std::string entries, table;
  for (const Library& one : libraries_)
    append(entries, Entry{.flags = one.flags,
                          .name = store(one.name),
                          .path = store(one.path),
                          .os_version = one.os_version,
                          .hwcap = one.hwcap});
  for (const std::string& name : hwcaps_) append(table, store(name));
  text.resize(aligned(text_begin + text.size(), 4) - text_begin);
  Header header{};
  std::ranges::copy(kMagic, header.magic);
  header.libraries = static_cast<std::uint32_t>(libraries_.size());
  header.bytes_of_text = static_cast<std::uint32_t>(text.size());
  header.flags = kLittleEndian;
  header.extension = static_cast<std::uint32_t>(text_begin + text.size());

  const std::uint32_t sections = 2;
  const auto data = static_cast<std::uint32_t>(header.extension + 8 + sections * sizeof(Section));
  const auto table_size = static_cast<std::uint32_t>(table.size());
  std::string file;
  append(file, header);
  file += entries + text;
  append(file, kExtensionMagic);
  append(file, sections);
  append(file, Section{.tag = kHwcapsTag, .flags = 0, .offset = data, .size = table_size});
  append(file, Section{.tag = kGeneratorTag,
                       .flags = 0,
                       .offset = data + table_size,
                       .size = static_cast<std::uint32_t>(generator_.size())});
  return file + table + generator_;
}

std::string_view LibraryCache::find(std::string_view name) const {
  for (const Library& one : libraries_)
    if (one.flags == kNativeFlags && one.name == name) return one.path;
  return {};
}

}  // namespace cardcage
