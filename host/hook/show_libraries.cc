#include "host/hook/show_libraries.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "host/hook/library_cache.h"
#include "host/loader/elf.h"
#include "host/model/image_library.h"

namespace cardcage {
namespace {

constexpr const char* kCache = "/etc/ld.so.cache";
constexpr const char* kConfig = "/etc/ld.so.conf";
constexpr const char* kConfigFolder = "/etc/ld.so.conf.d";
// ldconfig searches the folders in the order of the files, and images name theirs from "000_" on.
constexpr const char* kConfigFile = "/etc/ld.so.conf.d/00-cardcage.conf";
constexpr std::size_t kMaxCache = 64u << 20, kMaxConfigFile = 64u << 10;
#ifdef __aarch64__
constexpr const char* kLoader = "/lib/ld-linux-aarch64.so.1";
#else
constexpr const char* kLoader = "/lib64/ld-linux-x86-64.so.2";
#endif

bool has_glibc(const ContainerRoot& root) {
  const auto is_musl = [](const std::string& name) { return name.starts_with("ld-musl-"); };
  // Images of musl may have a stand-in for glibc's loader, and images of glibc may have musl's beside it.
  return root.has(kLoader) && (root.has(kCache) || std::ranges::none_of(root.list("/lib"), is_musl));
}

// Returns the SONAME of a library of this architecture; nothing for any other file.
std::optional<std::string> soname_of(int file) {
  struct stat about{};
  if (::fstat(file, &about) != 0 || about.st_size == 0) return std::nullopt;
  const auto size = static_cast<std::size_t>(about.st_size);
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (memory == MAP_FAILED) return std::nullopt;
  auto name = read_soname({static_cast<const std::byte*>(memory), size});
  ::munmap(memory, size);
  return name ? std::optional(std::move(*name)) : std::nullopt;
}

// Adds the libraries of a folder under the names of their files, and under SONAMEs that no file has as its name.
void add_libraries(const ContainerRoot& root, const std::string& folder, bool mounted,
                   std::map<std::string, std::string>& path_by_name) {
  std::map<std::string, std::string> path_by_soname;
  for (const std::string& name : root.list(folder)) {
    if (!name.starts_with("lib") || name.find(".so") == std::string::npos) continue;
    const std::string path = folder + "/" + name;
    const UniqueFd file = root.open(path, mounted);
    const auto soname = file ? soname_of(file.get()) : std::nullopt;
    if (!soname) continue;
    path_by_name.try_emplace(name, path);
    if (!soname->empty() && soname->find('/') == std::string::npos) path_by_soname.try_emplace(*soname, path);
  }
  path_by_name.merge(path_by_soname);
}

// True if the image has one such library in the folder, and a newer one than the node. With several the choice is
// unclear, and NVIDIA's container toolkit uses none of them, either.
bool has_newer(const ContainerRoot& root, const LdPath& folder) {
  const auto nodes = image_library_from(folder.newer_than);
  if (!nodes) return false;
  std::vector<std::string> found = root.list(folder.path);
  std::erase_if(found, [&](const std::string& file) { return !nodes->names(file); });
  return found.size() == 1 && nodes->is_older_than(found.front());
}

bool is_path(const std::string& line) {
  return line.starts_with('/') && std::ranges::all_of(line, [](char c) { return c > ' ' && c < 0x7f; });
}

// A read-only image needs no such file: a later ldconfig could not write, either.
Status name_folders(const ContainerRoot& root, const std::vector<std::string>& folders) {
  if (!root.make_folder(kConfigFolder)) return {};
  std::string text;
  for (const std::string& folder : folders) text += folder + "\n";
  // An earlier file was written by the hook of another claim.
  std::istringstream before(root.read(kConfigFile, kMaxConfigFile).value_or(""));
  for (std::string line; std::getline(before, line);)
    if (is_path(line) && std::ranges::find(folders, line) == folders.end()) text += line + "\n";
  if (const auto written = root.write(kConfigFile, text); !written) return std::unexpected(written.error());
  if (const auto config = root.read(kConfig, kMaxConfigFile); config || config.error().code != Code::kNotFound)
    return {};
  const auto written = root.write(kConfig, fmt::format("include {}/*.conf\n", kConfigFolder));
  return written ? Status() : Status(std::unexpected(written.error()));
}

}  // namespace

Status show_libraries(const ContainerRoot& root, const std::vector<LdPath>& folders) {
  if (folders.empty() || !has_glibc(root)) return {};
  std::map<std::string, std::string> path_by_name;
  std::vector<std::string> found_in;
  for (const bool of_image : {true, false}) {  // a newer one of the image goes first
    for (const LdPath& folder : folders) {
      if (folder.newer_than.empty() == of_image || (of_image && !has_newer(root, folder))) continue;
      const std::size_t before = path_by_name.size();
      add_libraries(root, folder.path, !of_image, path_by_name);
      if (path_by_name.size() != before) found_in.push_back(folder.path);
    }
  }
  if (path_by_name.empty()) return {};
  const auto before = root.read(kCache, kMaxCache);
  if (!before && before.error().code != Code::kNotFound) return std::unexpected(before.error());
  auto cache = before ? LibraryCache::read(*before) : LibraryCache();
  if (!cache) return fail(Code::kInvalidArgument, "{} of the container cannot be read, and stays as it is", kCache);
  cache->put(path_by_name);
  if (const auto written = root.write(kCache, cache->bytes()); !written) return std::unexpected(written.error());
  return name_folders(root, found_in);
}

}  // namespace cardcage
