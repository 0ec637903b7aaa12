// The cache of glibc's dynamic loader, /etc/ld.so.cache: the libraries that programs get by their names.
//
// Source: sysdeps/generic/dl-cache.h and elf/cache.c of glibc. Reads the format 1.1, alone (glibc 2.32 and later) or
// after a cache of libc5. The loader of every glibc since 2.2 reads the written format.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cardcage {

class LibraryCache {
 public:
  // Nothing if the bytes cannot be read, or describe more than any image has.
  static std::optional<LibraryCache> read(std::string_view bytes);

  // Makes these the only native libraries with their names.
  void put(const std::map<std::string, std::string>& path_by_name);
  std::string bytes() const;

  // The path that the loader of this architecture takes; empty if it has none.
  std::string_view find(std::string_view name) const;
  std::size_t size() const { return libraries_.size(); }

 private:
  struct Library {
    std::int32_t flags = 0;
    std::uint32_t os_version = 0;
    std::uint64_t hwcap = 0;  // features that the processor must have
    std::string name, path;
  };
  bool read_extension(std::string_view file, std::string_view cache, std::uint32_t offset);

  std::vector<Library> libraries_;   // by name, descending
  std::vector<std::string> hwcaps_;  // names of the subfolders glibc-hwcaps/NAME that `hwcap` may refer to
  std::string generator_;            // the program that has made the cache
};

}  // namespace cardcage
