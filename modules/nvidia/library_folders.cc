#include "modules/nvidia/library_folders.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "modules/nvidia/node.h"

namespace cardcage::nvidia {
namespace {

namespace fs = std::filesystem;

#ifdef __aarch64__
#define CARDCAGE_TRIPLET "aarch64-linux-gnu"
#else
#define CARDCAGE_TRIPLET "x86_64-linux-gnu"
#endif

constexpr std::array kUsualFolders{
    "/usr/lib64",                  // Red Hat, SUSE
    "/usr/lib/" CARDCAGE_TRIPLET,  // Debian, Ubuntu
    "/lib64",                      // Google's container-optimized system
    "/lib/" CARDCAGE_TRIPLET,
    "/usr/lib",                // Arch, Talos
    "/usr/lib64/nvidia",       // RPM Fusion
    "/run/opengl-driver/lib",  // NixOS
    "/usr/lib/wsl/lib",        // WSL
};
// Folders with one subfolder per driver: Debian's nvidia/current and nvidia/tesla-535.
constexpr std::array kParents{"/usr/lib/" CARDCAGE_TRIPLET "/nvidia", "/usr/lib/nvidia"};
#undef CARDCAGE_TRIPLET

// The cache of glibc since 2.2, as in its dl-cache.h; older caches may lie before it in the file. Offsets count from
// the magic.
constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
struct CacheHeader {
  char magic[kMagic.size()];
  std::uint32_t entries, string_bytes, unused[5];
};
struct CacheEntry {
  std::int32_t flags;
  std::uint32_t name, path, os_version;
  std::uint64_t hardware;
};
static_assert(sizeof(CacheHeader) == 48 && sizeof(CacheEntry) == 24);

template <class T>
std::optional<T> read_from(std::string_view bytes, std::size_t offset) {
  T value;
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::string_view text_at(std::string_view bytes, std::size_t offset) {
  if (offset >= bytes.size()) return {};
  bytes.remove_prefix(offset);
  return bytes.substr(0, bytes.find('\0'));
}

bool names_driver_library(std::string_view name) {
  return name.starts_with("libnvidia-") || name.starts_with("libcuda.so.");
}

}  // namespace

const std::vector<fs::path>& usual_library_folders() {
  static const std::vector<fs::path> folders{kUsualFolders.begin(), kUsualFolders.end()};
  return folders;
}

std::vector<fs::path> packaged_library_folders(const fs::path& root) {
  std::vector<fs::path> folders;
  for (const char* parent : kParents) {
    const auto found = resolve(root, parent);
    if (!found) continue;
    std::vector<fs::path> inside{parent};
    std::error_code error;
    for (fs::directory_iterator entry(*found, error), end; !error && entry != end; entry.increment(error))
      inside.push_back(fs::path(parent) / entry->path().filename());
    // Where several drivers are installed, Debian's alternatives call the chosen one "current".
    std::ranges::sort(inside, [](const fs::path& left, const fs::path& right) {
      return std::pair(left.filename() != "current", left) < std::pair(right.filename() != "current", right);
    });
    std::ranges::copy(inside, std::back_inserter(folders));
  }
  return folders;
}

std::vector<fs::path> library_folders(const fs::path& root) {
  std::vector<fs::path> folders = usual_library_folders();
  std::ranges::copy(packaged_library_folders(root), std::back_inserter(folders));
  std::ranges::copy(cached_library_folders(root), std::back_inserter(folders));
  return folders;
}

std::vector<fs::path> cached_library_folders(const fs::path& root) {
  const auto name = resolve(root, "/etc/ld.so.cache");
  if (!name) return {};
  std::ifstream file(*name, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  const std::size_t start = content.find(kMagic);
  if (start == std::string::npos) return {};
  const std::string_view cache = std::string_view(content).substr(start);
  const auto header = read_from<CacheHeader>(cache, 0);
  std::vector<fs::path> folders;
  for (std::size_t i = 0; header && i < header->entries; ++i) {
    const auto entry = read_from<CacheEntry>(cache, sizeof(CacheHeader) + i * sizeof(CacheEntry));
    if (!entry) break;
    const fs::path path(text_at(cache, entry->path));
    if (!path.is_absolute() || !names_driver_library(text_at(cache, entry->name))) continue;
    if (std::ranges::find(folders, path.parent_path()) == folders.end()) folders.push_back(path.parent_path());
  }
  return folders;
}

}  // namespace cardcage::nvidia
