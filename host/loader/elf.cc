#include "host/loader/elf.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "cardcage/module.h"
#include "host/loader/table_0_3.h"

namespace cardcage {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
constexpr std::string_view kMachineName = "x86-64";
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
constexpr std::string_view kMachineName = "AArch64";
#else
#error "the module loader knows x86-64 and AArch64"
#endif

constexpr std::size_t kMaxSegments = 64, kMaxDynamic = 1024, kMaxNeeded = 256, kMaxEntries = 16, kMaxOthers = 3,
                      kMaxText = 4096;
constexpr std::string_view kEntryPrefix = "cage_module_v";

std::unexpected<Error> refuse(std::string_view why) { return fail(Code::kInvalidArgument, "{}", why); }
std::unexpected<Error> damaged(std::string_view what) {
  return fail(Code::kInvalidArgument, "its {} point outside the file: copy it again, it is damaged or truncated", what);
}

std::string machine_name(Elf64_Half machine) {
  switch (machine) {
    case EM_X86_64: return "x86-64";
    case EM_AARCH64: return "AArch64";
    case EM_386: return "32-bit x86";
    case EM_ARM: return "32-bit Arm";
    case EM_RISCV: return "RISC-V";
    case EM_PPC64: return "POWER";
    case EM_S390: return "s390";
    default: return fmt::format("machine {}", machine);
  }
}

// The file as memory. Every read is checked against its end.
class Image {
 public:
  explicit Image(std::span<const std::byte> file) : file_(file) {}

  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    if (!has(offset, sizeof(T))) return std::nullopt;
    T value;
    std::memcpy(&value, file_.data() + offset, sizeof value);
    return value;
  }
  // The text at `offset`, which ends in NUL within its first kMaxText bytes.
  std::optional<std::string_view> text(std::uint64_t offset) const {
    if (offset >= file_.size()) return std::nullopt;
    const char* begin = reinterpret_cast<const char*>(file_.data()) + offset;
    const std::size_t room = std::min(file_.size() - static_cast<std::size_t>(offset), kMaxText);
    const std::size_t size = ::strnlen(begin, room);
    if (size == room) return std::nullopt;
    return std::string_view(begin, size);
  }

  void add_segment(const Elf64_Phdr& segment) { segments_.push_back(segment); }
  // False for a file that was cut: access to a page beyond its end would kill the process.
  bool has_its_segments() const {
    return std::ranges::all_of(segments_, [this](const Elf64_Phdr& one) { return has(one.p_offset, one.p_filesz); });
  }
  // The position in the file of the byte that will be mapped at `address`.
  std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
    for (const Elf64_Phdr& segment : segments_)
      if (address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz) {
        const std::uint64_t offset = segment.p_offset + (address - segment.p_vaddr);
        if (offset >= segment.p_offset) return offset;
      }
    return std::nullopt;
  }

 private:
  bool has(std::uint64_t offset, std::uint64_t size) const {
    return offset <= file_.size() && size <= file_.size() - offset;
  }

  std::span<const std::byte> file_;
  std::vector<Elf64_Phdr> segments_;
};

// The entries of the dynamic section that matter here; addresses are virtual.
struct Dynamic {
  std::uint64_t strings = 0, symbols = 0, hash = 0, gnu_hash = 0, flags_1 = 0;
  std::vector<std::uint64_t> needed;
  std::optional<std::uint64_t> run_path, r_path, soname;
};

Result<Elf64_Ehdr> read_header(const Image& image) {
  const auto header = image.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return refuse("it is not an ELF file: name the shared object (.so) itself");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
    return fail(Code::kInvalidArgument, "it is not a 64-bit little-endian ELF file: install the build for {}",
                kMachineName);
  if (header->e_machine != kMachine)
    return fail(Code::kInvalidArgument, "it is built for {} and this host runs on {}: install the build for {}",
                machine_name(header->e_machine), kMachineName, kMachineName);
  if (header->e_type != ET_DYN)
    return refuse(header->e_type == ET_REL ? "it is an object file, not a shared object: link it with -shared"
                                           : "it is not a shared object: link it with -shared");
  if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > kMaxSegments) return damaged("program headers");
  return *header;
}

Result<Elf64_Phdr> read_segments(Image& image, const Elf64_Ehdr& header) {
  std::optional<Elf64_Phdr> dynamic;
  for (std::uint64_t index = 0; index < header.e_phnum; ++index) {
    const auto segment = image.at<Elf64_Phdr>(header.e_phoff + index * sizeof(Elf64_Phdr));
    if (!segment) return damaged("program headers");
    if (segment->p_type == PT_LOAD) image.add_segment(*segment);
    if (segment->p_type == PT_DYNAMIC) dynamic = segment;
  }
  if (!dynamic) return refuse("it has no dynamic section: link it with -shared");
  return *dynamic;
}

Result<Dynamic> read_dynamic(const Image& image, const Elf64_Phdr& segment) {
  Dynamic found;
  for (std::uint64_t index = 0; index < kMaxDynamic; ++index) {
    const auto entry = image.at<Elf64_Dyn>(segment.p_offset + index * sizeof(Elf64_Dyn));
    if (!entry) return damaged("dynamic entries");
    switch (entry->d_tag) {
      case DT_NULL: return found;
      case DT_STRTAB: found.strings = entry->d_un.d_ptr; break;
      case DT_SYMTAB: found.symbols = entry->d_un.d_ptr; break;
      case DT_HASH: found.hash = entry->d_un.d_ptr; break;
      case DT_GNU_HASH: found.gnu_hash = entry->d_un.d_ptr; break;
      case DT_FLAGS_1: found.flags_1 = entry->d_un.d_val; break;
      case DT_RUNPATH: found.run_path = entry->d_un.d_val; break;
      case DT_RPATH: found.r_path = entry->d_un.d_val; break;
      case DT_SONAME: found.soname = entry->d_un.d_val; break;
      case DT_NEEDED:
        if (found.needed.size() == kMaxNeeded) return refuse("it needs more than 256 libraries");
        found.needed.push_back(entry->d_un.d_val);
        break;
      default: break;
    }
  }
  return refuse("its dynamic section has no end");
}

Result<Dynamic> read_dynamic(Image& image) {
  const auto header = read_header(image);
  if (!header) return std::unexpected(header.error());
  const auto segment = read_segments(image, *header);
  if (!segment) return std::unexpected(segment.error());
  return read_dynamic(image, *segment);
}

// One more than the highest index that the GNU hash table reaches; it has no count of its own.
std::optional<std::uint64_t> gnu_symbol_count(const Image& image, std::uint64_t table) {
  const auto buckets = image.at<std::uint32_t>(table), first = image.at<std::uint32_t>(table + 4),
             bloom = image.at<std::uint32_t>(table + 8);
  if (!buckets || !first || !bloom) return std::nullopt;
  const std::uint64_t bucket_table = table + 16 + std::uint64_t{*bloom} * 8;
  std::uint64_t last = 0;
  for (std::uint64_t index = 0; index < *buckets; ++index) {
    const auto bucket = image.at<std::uint32_t>(bucket_table + index * 4);
    if (!bucket) return std::nullopt;
    last = std::max<std::uint64_t>(last, *bucket);
  }
  if (last < *first) return *first;
  const std::uint64_t chains = bucket_table + std::uint64_t{*buckets} * 4;
  for (;; ++last) {  // ends at the end of the file at the latest
    const auto chain = image.at<std::uint32_t>(chains + (last - *first) * 4);
    if (!chain) return std::nullopt;
    if ((*chain & 1) != 0) return last + 1;
  }
}

std::optional<std::uint64_t> symbol_count(const Image& image, const Dynamic& dynamic) {
  if (dynamic.gnu_hash != 0) {
    const auto table = image.offset_of(dynamic.gnu_hash);
    return table ? gnu_symbol_count(image, *table) : std::nullopt;
  }
  const auto table = image.offset_of(dynamic.hash);
  const auto count = table ? image.at<std::uint32_t>(*table + 4) : std::nullopt;
  return count ? std::optional<std::uint64_t>(*count) : std::nullopt;
}

bool is_exported(const Elf64_Sym& symbol) {
  const auto binding = ELF64_ST_BIND(symbol.st_info), visibility = ELF64_ST_VISIBILITY(symbol.st_other);
  // The names of versions are absolute.
  return symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS &&
         (binding == STB_GLOBAL || binding == STB_WEAK || binding == STB_GNU_UNIQUE) &&
         (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

Status read_exports(const Image& image, const Dynamic& dynamic, std::uint64_t strings, ElfFacts& facts) {
  const auto symbols = image.offset_of(dynamic.symbols);
  const auto count = symbol_count(image, dynamic);
  if (!symbols || !count) return damaged("symbol tables");
  for (std::uint64_t index = 0; index < *count; ++index) {
    const auto symbol = image.at<Elf64_Sym>(*symbols + index * sizeof(Elf64_Sym));
    if (!symbol) return damaged("symbols");
    if (!is_exported(*symbol)) continue;
    // Longer names, which C++ templates have, are not entries and not a reason to refuse the file.
    const auto name = image.text(strings + symbol->st_name);
    if (!name) continue;
    const bool entry = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && name->starts_with(kEntryPrefix);
    auto& names = entry ? facts.entries : facts.others;
    if (names.size() < (entry ? kMaxEntries : kMaxOthers)) names.emplace_back(*name);
  }
  return {};
}

}  // namespace

Result<ElfFacts> inspect_elf(std::span<const std::byte> file) {
  Image image(file);
  const auto dynamic = read_dynamic(image);
  if (!dynamic) return std::unexpected(dynamic.error());
  if ((dynamic->flags_1 & DF_1_PIE) != 0) return refuse("it is a program, not a shared object: link it with -shared");
  if (!image.has_its_segments()) return damaged("segments");
  const auto strings = image.offset_of(dynamic->strings);
  if (!strings) return damaged("string tables");

  ElfFacts facts;
  for (const std::uint64_t name : dynamic->needed) {
    const auto text = image.text(*strings + name);
    if (!text) return damaged("library names");
    facts.needed.emplace_back(*text);
  }
  if (const auto path = dynamic->run_path ? dynamic->run_path : dynamic->r_path) {
    const auto text = image.text(*strings + *path);
    if (!text) return damaged("run paths");
    facts.run_path = *text;
  }
  if (auto read = read_exports(image, *dynamic, *strings, facts); !read) return std::unexpected(read.error());
  return facts;
}

Result<std::string> read_soname(std::span<const std::byte> file) {
  Image image(file);
  const auto dynamic = read_dynamic(image);
  if (!dynamic) return std::unexpected(dynamic.error());
  if (!dynamic->soname) return std::string();
  const auto strings = image.offset_of(dynamic->strings);
  const auto name = strings ? image.text(*strings + *dynamic->soname) : std::nullopt;
  if (!name) return damaged("names");
  return std::string(*name);
}

Status check_entry(const ElfFacts& facts) {
  for (const std::string_view entry : {CAGE_ENTRY, kEntry03})
    if (std::ranges::find(facts.entries, entry) != facts.entries.end()) return {};
  if (facts.entries.empty())
    return fail(Code::kFailedPrecondition,
                "it does not export {}: either it is not a Cardcage module, or its build hides the symbol "
                "(mark it with CAGE_EXPORT and list it in the version script)",
                CAGE_ENTRY);
  return fail(Code::kFailedPrecondition,
              "it is built for module ABI major {} and this host has major {}: "
              "install a build of the module for major {}, or a Cardcage that has its major",
              facts.entries.front().substr(kEntryPrefix.size()), CAGE_ABI_MAJOR, CAGE_ABI_MAJOR);
}

}  // namespace cardcage
