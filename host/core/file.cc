#include "host/core/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "host/core/unique_fd.h"

namespace cardcage {
namespace {

std::string cannot(std::string_view verb, const std::filesystem::path& path) {
  return fmt::format("cannot {} '{}'", verb, path.native());
}

Status write_temporary(const std::filesystem::path& path, std::string_view content, mode_t mode, bool durable) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd) return fail_errno(errno, "open");
  if (::fchmod(fd.get(), mode) != 0) return fail_errno(errno, "chmod");
  if (!write_all(fd.get(), content)) return fail_errno(errno, "write");
  if (durable && ::fsync(fd.get()) != 0) return fail_errno(errno, "fsync");
  return {};
}

// The umask takes bits away from mkdir's mode, but not from chmod's.
bool make_one_folder(const std::filesystem::path& path, mode_t mode) {
  return ::mkdir(path.c_str(), mode) == 0 && ::chmod(path.c_str(), mode) == 0;
}

Status sync_folder(const std::filesystem::path& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return fail_errno(errno, cannot("sync", folder));
  return {};
}

}  // namespace

bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail_errno(errno, cannot("open", path));
  struct stat about{};
  if (::fstat(fd.get(), &about) != 0) return fail_errno(errno, cannot("stat", path));
  if (!S_ISREG(about.st_mode)) return fail(Code::kInvalidArgument, "'{}' is not a regular file", path.native());
  std::string content;
  // One byte more than the limit shows that the file is too large, even if it has grown since fstat.
  content.resize(std::min(limit, static_cast<std::size_t>(about.st_size)) + 1);
  std::size_t size = 0;
  for (;;) {
    const ssize_t got = ::read(fd.get(), content.data() + size, content.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, cannot("read", path));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
    if (size > limit) return fail(Code::kOutOfRange, "'{}' is larger than {} bytes", path.native(), limit);
    if (size == content.size()) content.resize(std::min(limit, size * 2) + 1);
  }
  content.resize(size);
  return content;
}

Status write_file_atomically(const std::filesystem::path& path, std::string_view content, mode_t mode, bool durable) {
  const auto temporary = path.parent_path() / ("." + path.filename().native() + ".tmp");
  if (auto written = write_temporary(temporary, content, mode, durable); !written) {
    ::unlink(temporary.c_str());
    return within(written.error(), "cannot write '{}'", path.native());
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    return fail_errno(error, cannot("write", path));
  }
  return durable ? sync_folder(path.parent_path()) : Status{};
}

Status make_folder(const std::filesystem::path& path, mode_t mode) {
  if (make_one_folder(path, mode)) return {};
  if (errno == ENOENT && path.has_parent_path() && path.parent_path() != path) {
    if (auto parent = make_folder(path.parent_path(), mode); !parent) return parent;
    if (make_one_folder(path, mode)) return {};
  }
  const int error = errno;
  struct stat about{};
  if (error == EEXIST && ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) return {};
  return fail_errno(error, cannot("create folder", path));
}

FileStamp stamp_of(const std::filesystem::path& path) {
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0) return {};
  return {about.st_dev, about.st_ino, about.st_mtim.tv_sec * 1'000'000'000 + about.st_mtim.tv_nsec, about.st_size};
}

Result<std::filesystem::path> program_beside(std::string_view name) {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return fail(Code::kUnavailable, "cannot find {}: /proc/self/exe: {}", name, failed.message());
  return self.parent_path() / name;
}

}  // namespace cardcage
