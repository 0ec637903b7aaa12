#include <algorithm>
#include <cstddef>
#include <cstring>

#include "host/loader/loader.h"

namespace cardcage {
namespace {

// The size of the table in ABI 1.0.
constexpr std::size_t kSmallestTable = offsetof(cage_module, extension) + sizeof(cage_module::extension);
// A size beyond this is not a table but garbage.
constexpr std::size_t kLargestTable = 4096;
constexpr std::uint32_t kFlags =
    CAGE_MODULE_UNLOADABLE | CAGE_MODULE_PROCESS_ONLY | CAGE_MODULE_CONCURRENT | CAGE_MODULE_NO_PREPARE;

Status check_functions(const cage_module& table) {
  const std::pair<const char*, bool> required[] = {{"create", table.create != nullptr},
                                                   {"discover", table.discover != nullptr},
                                                   {"prepare", table.prepare != nullptr},
                                                   {"unprepare", table.unprepare != nullptr},
                                                   {"destroy", table.destroy != nullptr}};
  for (const auto& [name, present] : required)
    if (!present)
      return fail(Code::kFailedPrecondition,
                  "its table has no {} function, which every module needs: set .{} in the cage_module table", name,
                  name);
  return {};
}

Status check_minors(const cage_module& table) {
  if (table.abi_minor < table.min_host_minor)
    return fail(Code::kFailedPrecondition,
                "its table says abi_minor {} and min_host_minor {}: set .abi_minor = CAGE_ABI_MINOR", table.abi_minor,
                table.min_host_minor);
  if (table.min_host_minor > CAGE_ABI_MINOR)
    return fail(Code::kFailedPrecondition,
                "it needs a host with module ABI {}.{} or later and this one has {}.{}: "
                "upgrade Cardcage, or install an older build of the module",
                CAGE_ABI_MAJOR, table.min_host_minor, CAGE_ABI_MAJOR, CAGE_ABI_MINOR);
  return {};
}

}  // namespace

Result<cage_module> read_table(const cage_module* entry) {
  if (entry == nullptr)
    return fail(Code::kFailedPrecondition,
                "its entry {} returned no table, which means that it does not work with this host (module ABI {}.{}): "
                "install a build for this version",
                CAGE_ENTRY, CAGE_ABI_MAJOR, CAGE_ABI_MINOR);
  if (entry->magic != CAGE_MAGIC)
    return fail(Code::kFailedPrecondition,
                "its table begins with 0x{:08x} and not with CAGE_MAGIC: set .magic = CAGE_MAGIC", entry->magic);
  const std::size_t size = entry->struct_size;
  if (size < kSmallestTable || size > kLargestTable)
    return fail(Code::kFailedPrecondition,
                "its table says struct_size {}, expected {}, as in module ABI 1.0, to {}: set .struct_size = "
                "sizeof(cage_module) [R2]",
                size, kSmallestTable, kLargestTable);
  cage_module table{};
  std::memcpy(&table, entry, std::min(size, sizeof table));
  if (auto checked = check_minors(table); !checked) return std::unexpected(checked.error());
  if (const std::uint32_t unknown = table.flags & ~kFlags; unknown != 0)
    return fail(Code::kFailedPrecondition,
                "its table has the unknown flags 0x{:x}: a module sets only those that the host knows [R16]", unknown);
  if (auto checked = check_functions(table); !checked) return std::unexpected(checked.error());
  return table;
}

static Status check_place(const Library& library, std::string_view part, const void* place) {
  if (place == nullptr || library.contains(place)) return {};
  return fail(Code::kFailedPrecondition,
              "its {} must lie in the file; perhaps another module exports the same name: define it in the module, and "
              "export {} alone (-fvisibility=hidden, module.map) [R1]",
              part, CAGE_ENTRY);
}

static Status check_places(const Library& library, const void* entry, const cage_module& table) {
  const auto address = [](auto function) { return reinterpret_cast<const void*>(function); };
  // The pointer of an empty list is not checked: that of an empty slice in Rust dangles.
  const auto list = [](auto items, std::uint32_t count) {
    return count > 0 ? static_cast<const void*>(items) : nullptr;
  };
  const std::pair<const char*, const void*> parts[] = {{"table", entry},
                                                       {"options", list(table.options, table.option_count)},
                                                       {"schemas", list(table.schemas, table.schema_count)},
                                                       {"causes", list(table.causes, table.cause_count)},
                                                       {"needs", list(table.needs, table.need_count)},
                                                       {"create", address(table.create)},
                                                       {"start", address(table.start)},
                                                       {"discover", address(table.discover)},
                                                       {"prepare", address(table.prepare)},
                                                       {"unprepare", address(table.unprepare)},
                                                       {"check", address(table.check)},
                                                       {"quiesce", address(table.quiesce)},
                                                       {"resume", address(table.resume)},
                                                       {"stop", address(table.stop)},
                                                       {"destroy", address(table.destroy)},
                                                       {"extension", address(table.extension)}};
  for (const auto& [part, place] : parts)
    if (auto placed = check_place(library, part, place); !placed) return placed;
  return {};
}

template <class Table>
static Result<const Table*> call_entry(const Library& library, const char* name, std::uint32_t host_minor) {
  void* const symbol = library.symbol(name);
  if (symbol == nullptr) return fail(Code::kFailedPrecondition, "the dynamic loader does not find {}", name);
  try {
    return reinterpret_cast<const Table* (*)(std::uint32_t)>(symbol)(host_minor);
  } catch (...) {
    return fail(Code::kFailedPrecondition, "its entry {} threw an exception; no exception may leave a module [R9]",
                name);
  }
}

Status LoadedModule::check_place(std::string_view part, const void* place) const {
  return cardcage::check_place(library_, part, place);
}

Status LoadedModule::take_table() {
  auto entry = call_entry<cage_module>(library_, CAGE_ENTRY, CAGE_ABI_MINOR);
  if (!entry) return std::unexpected(entry.error());
  auto table = read_table(*entry);
  if (!table) return std::unexpected(table.error());
  table_ = *table;
  return check_places(library_, *entry, table_);
}

Status LoadedModule::take_table_0_3() {
  auto entry = call_entry<Table03>(library_, kEntry03, kMinor03);
  if (!entry) return std::unexpected(entry.error());
  auto translated = translate_table(*entry);
  if (!translated) return std::unexpected(translated.error());
  translated_ = std::move(*translated);
  auto table = read_table(&translated_->table);
  if (!table) return std::unexpected(table.error());
  table_ = *table;
  // The schema that was made of `params` lies in the host, not in the file.
  cage_module own = table_;
  if (own.schemas == translated_->schema_list) own.schema_count = 0;
  return check_places(library_, *entry, own);
}

Result<LoadedModule> load(StagedModule staged) {
  auto library = Library::open(std::move(staged.image), staged.path, staged.elf);
  if (!library) return std::unexpected(library.error());
  LoadedModule loaded(staged, std::move(*library));
  const bool is_current = loaded.library_.symbol(CAGE_ENTRY) != nullptr || loaded.library_.symbol(kEntry03) == nullptr;
  if (auto taken = is_current ? loaded.take_table() : loaded.take_table_0_3(); !taken)
    return within(taken.error(), "module file '{}' is refused", loaded.path_.native());
  if ((loaded.table_.flags & CAGE_MODULE_UNLOADABLE) != 0) loaded.library_.allow_unmap();
  return loaded;
}

}  // namespace cardcage
