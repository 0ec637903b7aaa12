#include "sim/nvml/shared_library.h"

#include <elf.h>

#include <cstddef>
#include <cstring>

namespace cardcage::fake_nvml {
namespace {

#ifdef __aarch64__
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
constexpr Elf64_Half kMachine = EM_X86_64;
#endif
constexpr Elf64_Xword kPage = 0x1000;

// The parts that the loader reads, in file and memory order.
struct Image {
  Elf64_Ehdr header;
  Elf64_Phdr segments[2];
  Elf64_Sym symbol;    // the first symbol of each table is empty
  Elf64_Word hash[4];  // one bucket and one chain, both empty
};

void identify(unsigned char* ident, unsigned char elf_class) {
  std::memcpy(ident, ELFMAG, SELFMAG);
  ident[EI_CLASS] = elf_class;
  ident[EI_DATA] = ELFDATA2LSB;
  ident[EI_VERSION] = EV_CURRENT;
}

template <class T>
void append(std::string& to, const T* from, std::size_t count) {
  to.append(reinterpret_cast<const char*>(from), count * sizeof(T));
}

}  // namespace

std::string shared_library(const std::string& soname, const std::vector<std::string>& needed) {
  std::string names(1, '\0');
  std::vector<Elf64_Dyn> dynamic;
  const auto entry = [&](Elf64_Sxword tag, Elf64_Xword value) { dynamic.push_back({tag, {value}}); };
  const auto name = [&](Elf64_Sxword tag, const std::string& text) {
    entry(tag, names.size());
    names += text + '\0';
  };
  for (const std::string& library : needed) name(DT_NEEDED, library);
  name(DT_SONAME, soname);
  names.resize((names.size() + sizeof(Elf64_Dyn) - 1) / sizeof(Elf64_Dyn) * sizeof(Elf64_Dyn));
  entry(DT_HASH, offsetof(Image, hash));
  entry(DT_SYMTAB, offsetof(Image, symbol));
  entry(DT_SYMENT, sizeof(Elf64_Sym));
  entry(DT_STRTAB, sizeof(Image));
  entry(DT_STRSZ, names.size());
  entry(DT_NULL, 0);

  Image image{};
  const Elf64_Off at = sizeof(Image) + names.size();
  const Elf64_Xword size = dynamic.size() * sizeof(Elf64_Dyn);
  identify(image.header.e_ident, ELFCLASS64);
  image.header.e_type = ET_DYN;
  image.header.e_machine = kMachine;
  image.header.e_version = EV_CURRENT;
  image.header.e_phoff = offsetof(Image, segments);
  image.header.e_ehsize = sizeof(Elf64_Ehdr);
  image.header.e_phentsize = sizeof(Elf64_Phdr);
  image.header.e_phnum = 2;
  // The loader writes addresses into the dynamic section.
  image.segments[0] = {.p_type = PT_LOAD,
                       .p_flags = PF_R | PF_W,
                       .p_offset = 0,
                       .p_vaddr = 0,
                       .p_paddr = 0,
                       .p_filesz = at + size,
                       .p_memsz = at + size,
                       .p_align = kPage};
  image.segments[1] = {.p_type = PT_DYNAMIC,
                       .p_flags = PF_R | PF_W,
                       .p_offset = at,
                       .p_vaddr = at,
                       .p_paddr = at,
                       .p_filesz = size,
                       .p_memsz = size,
                       .p_align = alignof(Elf64_Dyn)};
  image.hash[0] = image.hash[1] = 1;
  std::string file;
  append(file, &image, 1);
  file += names;
  append(file, dynamic.data(), dynamic.size());
  return file;
}

std::string shared_library_32() {
  Elf32_Ehdr header{};
  identify(header.e_ident, ELFCLASS32);
  header.e_type = ET_DYN;
  header.e_machine = EM_386;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf32_Ehdr);
  std::string file;
  append(file, &header, 1);
  return file;
}

}  // namespace cardcage::fake_nvml
