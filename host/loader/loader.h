// From a file name in the configuration to the table of a module, in two steps: stage() checks and copies without
// running anything, load() maps the copy and calls its entry. Every refusal names the file, the cause and the remedy.
//
// Files on disk are never mapped: overwriting one in place would crash the daemon.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cardcage/module.h"
#include "host/core/result.h"
#include "host/core/unique_fd.h"
#include "host/loader/descent.h"
#include "host/loader/elf.h"
#include "host/loader/library.h"
#include "host/loader/table_0_3.h"

namespace cardcage {

// Larger than any vendor module seen; limits the bytes that a wrong path can make the host copy.
constexpr std::uint64_t kMaxModuleBytes = 256ull << 20;

// A sealed copy of a module file that passed every check that needs no execution.
struct StagedModule {
  std::filesystem::path path;  // path on disk, for messages
  std::string sha256;          // lower-case hex
  ElfFacts elf;
  UniqueFd image;  // memfd, sealed against every change
};
using ModuleBuild = std::shared_ptr<const StagedModule>;

// [any-thread, reads the disk] `file` is relative to the first of `folders` that has it, and links on the way stay
// below that folder (see open_below). Unless its content is pinned or anybody is trusted, it and every folder on the
// way must belong to root or to this process, and no other user may have write access. `pinned_sha256` is hex in either
// case, or empty for any content.
Result<StagedModule> stage(const std::vector<std::filesystem::path>& folders, const std::filesystem::path& file,
                           std::string_view pinned_sha256, Trust trust = Trust::kOwnersOnly);

// A mapped module. It stays mapped when this object ends, unless the module says CAGE_MODULE_UNLOADABLE.
class LoadedModule {
 public:
  // The module's table as this host knows it: members that a shorter table lacks are zero, and members that a longer
  // one adds are left out. Its pointers lead into the module, but for the schema of a module of 0.3.
  const cage_module& table() const { return table_; }
  // The minor by which the module knows the host. One of 0.3 has no minor of this major in its table.
  std::uint32_t host_minor() const { return translated_ ? kMinor03 : CAGE_ABI_MINOR; }
  bool is_of_0_3() const { return translated_ != nullptr; }
  const std::filesystem::path& path() const { return path_; }
  const std::string& sha256() const { return sha256_; }
  // Fails if `place` lies in another module or library: the dynamic loader unites unique symbols of one name,
  // RTLD_LOCAL or not. `part` names it for people; a null place is fine.
  Status check_place(std::string_view part, const void* place) const;

 private:
  friend Result<LoadedModule> load(StagedModule staged);
  Status take_table();
  Status take_table_0_3();
  LoadedModule(StagedModule& staged, Library library)
      : path_(std::move(staged.path)), sha256_(std::move(staged.sha256)), library_(std::move(library)) {}

  std::filesystem::path path_;
  std::string sha256_;
  Library library_;
  cage_module table_{};
  std::unique_ptr<TranslatedTable> translated_;
};

// [any-thread] Runs the constructors and the entry function of the module, and checks that the table and its functions
// lie in the module. They may do anything, so call it on a thread that may get stuck.
Result<LoadedModule> load(StagedModule staged);

// The table behind `entry`, checked and copied: magic, size, minors, required functions [R1, R2].
Result<cage_module> read_table(const cage_module* entry);

}  // namespace cardcage
