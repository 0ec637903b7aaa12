#include "host/hook/container_root.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>

#include "host/core/file.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxConfig = 16u << 20;
constexpr int kCannotWrite[]{EROFS, EACCES, EPERM};
constexpr const char* kScratch = "/proc";  // every container has it

std::string path_of(const UniqueFd& file) { return fmt::format("/proc/self/fd/{}", file.get()); }

std::unexpected<Error> cannot(std::string_view what, std::string_view path) {
  return fail_errno(errno, fmt::format("cannot {} {} of the container", what, path));
}

// Since Linux 5.8 statx(2) tells. Before, the file systems of the file and of its folder are compared.
bool is_mount(int file, int folder) {
  struct statx about{};
  if (::statx(file, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &about) != 0) return false;
  if ((about.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0)
    return (about.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  struct stat around{};
  return ::fstat(folder, &around) == 0 && around.st_dev != makedev(about.stx_dev_major, about.stx_dev_minor);
}

// True if mounts over this file reach other namespaces, such as the node's, or if that cannot be found out.
bool propagates(const UniqueFd& file) {
  struct statx about{};
  if (::statx(file.get(), "", AT_EMPTY_PATH, STATX_MNT_ID, &about) != 0 || (about.stx_mask & STATX_MNT_ID) == 0)
    return true;
  std::ifstream mounts("/proc/self/mountinfo");  // "36 35 98:0 /mnt1 /mnt2 rw,noatime shared:1 - ext3 ..."
  const std::string begin = fmt::format("{} ", about.stx_mnt_id);
  for (std::string line; std::getline(mounts, line);)
    if (line.starts_with(begin)) return line.substr(0, line.find(" - ")).find(" shared:") != std::string::npos;
  return true;
}

// Makes a mount of a file in memory that is not attached yet. The kernel clones mounts of its own namespace only
// (before Linux 6.15), so that file system is mounted at `scratch` for a moment.
UniqueFd file_in_memory(const UniqueFd& scratch, std::string_view content) {
  const UniqueFd context(::fsopen("tmpfs", FSOPEN_CLOEXEC));
  if (!context || ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return {};
  const UniqueFd memory(::fsmount(context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID));
  if (!memory) return {};
  {
    const UniqueFd file(::openat(memory.get(), "file", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
    if (!file || !write_all(file.get(), content) || ::fchmod(file.get(), 0444) != 0) return {};
  }
  if (::move_mount(memory.get(), "", scratch.get(), "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
    return {};
  UniqueFd clone(::open_tree(memory.get(), "file", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  const int failed = errno;
  if (::umount2(path_of(memory).c_str(), MNT_DETACH) != 0) return {};
  errno = failed;
  if (!clone) return clone;
  mount_attr read_only{};
  read_only.attr_set = MOUNT_ATTR_RDONLY;
  ::mount_setattr(clone.get(), "", AT_EMPTY_PATH, &read_only, sizeof read_only);  // since Linux 5.12
  return clone;
}

}  // namespace

Result<ContainerRoot> ContainerRoot::of_bundle(const std::string& bundle) {
  const auto config = read_file(bundle + "/config.json", kMaxConfig);
  if (!config) return std::unexpected(config.error());
  boost::system::error_code error;
  const boost::json::value parsed = boost::json::parse(*config, error);
  const boost::json::value* const path = error ? nullptr : parsed.find_pointer("/root/path", error);
  if (path == nullptr || !path->is_string())
    return fail(Code::kInvalidArgument,
                "{}/config.json has no root.path, which each container has (OCI runtime specification)", bundle);
  return of_folder(std::filesystem::path(bundle) / std::string(path->get_string()));
}

Result<ContainerRoot> ContainerRoot::of_folder(const std::string& folder) {
  UniqueFd root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return fail_errno(errno, fmt::format("cannot open {}, the container's root", folder));
  return ContainerRoot(std::move(root));
}

UniqueFd ContainerRoot::find(const std::string& path, int flags, bool only_image) const {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | (only_image ? RESOLVE_NO_XDEV : 0);
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, root_.get(), path.c_str(), &how, sizeof how)));
}

bool ContainerRoot::has(const std::string& path) const { return static_cast<bool>(find(path, O_PATH)); }

// The file is opened only after its type is known: opening a device or a FIFO may have effects.
UniqueFd ContainerRoot::open(const std::string& path, bool mounted) const {
  const UniqueFd found = find(path, O_PATH);
  struct stat about{};
  if (!found || ::fstat(found.get(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
  if (mounted) {
    const UniqueFd folder = find(std::filesystem::path(path).parent_path(), O_PATH);
    if (!folder || !is_mount(found.get(), folder.get())) return {};
  }
  return UniqueFd(::open(path_of(found).c_str(), O_RDONLY | O_CLOEXEC));
}

Result<std::string> ContainerRoot::read(const std::string& path, std::size_t limit) const {
  const UniqueFd found = find(path, O_PATH | O_NOFOLLOW, true);
  struct stat about{};
  if (!found && errno == ENOENT) return fail(Code::kNotFound, "the container has no {}", path);
  if (!found || ::fstat(found.get(), &about) != 0 || !S_ISREG(about.st_mode))
    return fail(Code::kFailedPrecondition, "the hook leaves {} alone: it is not a regular file of the image", path);
  return read_file(path_of(found), limit);
}

std::vector<std::string> ContainerRoot::list(const std::string& folder) const {
  std::vector<std::string> names;
  UniqueFd found = find(folder, O_RDONLY | O_DIRECTORY);
  if (!found) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(found.get()), ::closedir);
  if (!entries) return names;
  found.release();
  while (const dirent* one = ::readdir(entries.get())) names.emplace_back(one->d_name);
  std::ranges::sort(names);
  return names;
}

Result<bool> ContainerRoot::write(const std::string& path, std::string_view content) const {
  const std::filesystem::path split(path);
  const std::string name = split.filename(), passing = fmt::format(".{}.{:08x}", name, std::random_device()());
  const UniqueFd folder = find(split.parent_path(), O_RDONLY | O_DIRECTORY, true);
  if (!folder) return cannot("write", path);
  {
    const UniqueFd file(::openat(folder.get(), passing.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (file && write_all(file.get(), content) && ::fchmod(file.get(), 0644) == 0 &&
        ::renameat(folder.get(), passing.c_str(), folder.get(), name.c_str()) == 0)
      return true;
    const int error = errno;
    if (file) ::unlinkat(folder.get(), passing.c_str(), 0);
    errno = error;
  }
  if (std::ranges::find(kCannotWrite, errno) == std::end(kCannotWrite)) return cannot("write", path);
  return cover(find(path, O_PATH | O_NOFOLLOW, true), path, content);
}

Result<bool> ContainerRoot::cover(const std::string& path, std::string_view content) const {
  return cover(find(path, O_PATH), path, content);
}

Result<bool> ContainerRoot::cover(const UniqueFd& target, const std::string& path, std::string_view content) const {
  const UniqueFd scratch = find(kScratch, O_PATH | O_DIRECTORY);
  if (!target || !scratch || propagates(target) || propagates(scratch)) return false;
  const UniqueFd file = file_in_memory(scratch, content);
  if (!file || ::move_mount(file.get(), "", target.get(), "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
    return cannot("mount a file over", path);
  return true;
}

bool ContainerRoot::make_folder(const std::string& path) const {
  const std::filesystem::path split(path);
  const UniqueFd parent = find(split.parent_path(), O_RDONLY | O_DIRECTORY, true);
  if (parent) ::mkdirat(parent.get(), split.filename().c_str(), 0755);
  return static_cast<bool>(find(path, O_PATH | O_DIRECTORY | O_NOFOLLOW, true));
}

}  // namespace cardcage
