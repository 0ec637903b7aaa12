#include "modules/nvidia/shared_object.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <vector>

namespace cardcage::nvidia {
namespace {

#ifdef __aarch64__
constexpr unsigned kMachine = EM_AARCH64;
#else
constexpr unsigned kMachine = EM_X86_64;
#endif

// The file may be broken, so its sizes are checked before use.
constexpr std::size_t kMaxEntries = 4096;
constexpr std::size_t kMaxName = 256;

template <class T>
bool read_at(std::ifstream& file, std::uint64_t offset, T* to, std::size_t count) {
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(file.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(count * sizeof(T))));
}

// The offset in the file that the loader maps the address from.
std::optional<std::uint64_t> offset_of(const std::vector<Elf64_Phdr>& segments, std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments)
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
      return segment.p_offset + (address - segment.p_vaddr);
  return std::nullopt;
}

bool is_native(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_machine == kMachine && header.e_type == ET_DYN;
}

std::string soname_of(std::ifstream& file, const Elf64_Ehdr& header) {
  std::vector<Elf64_Phdr> segments(std::min<std::size_t>(header.e_phnum, kMaxEntries));
  if (header.e_phentsize != sizeof(Elf64_Phdr) || !read_at(file, header.e_phoff, segments.data(), segments.size()))
    return {};
  std::optional<std::uint64_t> names, name;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    std::vector<Elf64_Dyn> entries(std::min<std::size_t>(segment.p_filesz / sizeof(Elf64_Dyn), kMaxEntries));
    if (!read_at(file, segment.p_offset, entries.data(), entries.size())) return {};
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_STRTAB) names = offset_of(segments, entry.d_un.d_ptr);
      if (entry.d_tag == DT_SONAME) name = entry.d_un.d_val;
    }
  }
  if (!names || !name) return {};
  std::string text(kMaxName, '\0');
  read_at(file, *names + *name, text.data(), text.size());  // the string may end earlier
  const std::size_t end = text.find('\0');
  return end == std::string::npos || text.find('/') < end ? std::string() : text.substr(0, end);
}

}  // namespace

// Runs before each use of NVML, so without the buffer of a stream.
bool is_loadable(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  Elf64_Ehdr header{};
  const bool read = ::pread(file, &header, sizeof header, 0) == static_cast<ssize_t>(sizeof header);
  ::close(file);
  return read && is_native(header);
}

std::optional<std::string> read_soname(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  if (!read_at(file, 0, &header, 1) || !is_native(header)) return std::nullopt;
  return soname_of(file, header);
}

}  // namespace cardcage::nvidia
