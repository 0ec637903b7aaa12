#include "host/core/trusted_path.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <climits>
#include <deque>
#include <vector>

namespace cardcage {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;  // as in the kernel
constexpr mode_t kWritersBesideOwner = S_IWGRP | S_IWOTH;

bool is_trusted(uid_t owner) { return owner == 0 || owner == ::geteuid(); }

class Walk {
 public:
  Walk(const fs::path& path, const PathCheck& check) : check_(check) { go_first(path); }
  Result<WalkedPath> run();

 private:
  struct Folder {
    UniqueFd fd;
    fs::path path;
    struct stat about{};
  };
  void go_first(const fs::path& way);
  Status enter_root();
  Status step(const fs::path& name);
  Status follow(const UniqueFd& link, const fs::path& path);

  const PathCheck& check_;
  std::deque<fs::path> rest_;
  std::vector<Folder> at_;  // from / to the folder of the next part
  WalkedPath reached_;      // the last part, once nothing is left
  int links_ = 0;
};

void Walk::go_first(const fs::path& way) {
  std::vector<fs::path> parts;
  for (const fs::path& part : way)
    if (!part.empty() && part != "." && part != "/") parts.push_back(part);
  rest_.insert(rest_.begin(), parts.begin(), parts.end());
}

Status Walk::enter_root() {
  Folder root{UniqueFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)), "/", {}};
  if (!root.fd || ::fstat(root.fd.get(), &root.about) != 0) return fail_errno(errno, "cannot open '/'");
  at_.clear();
  at_.push_back(std::move(root));
  return {};
}

Result<WalkedPath> Walk::run() {
  if (auto entered = enter_root(); !entered) return std::unexpected(entered.error());
  while (!rest_.empty()) {
    const fs::path name = std::move(rest_.front());
    rest_.pop_front();
    if (auto stepped = step(name); !stepped) return std::unexpected(stepped.error());
  }
  if (reached_.path.empty()) reached_ = {{}, at_.back().path, at_.back().about};  // "/", or after ".."
  reached_.folder = std::move(at_.back().fd);
  return std::move(reached_);
}

Status Walk::step(const fs::path& name) {
  if (name == "..") {
    if (at_.size() > 1) at_.pop_back();
    return {};
  }
  const Folder& folder = at_.back();
  Folder part{
      UniqueFd(::openat(folder.fd.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)), folder.path / name, {}};
  const int error = part.fd && ::fstat(part.fd.get(), &part.about) == 0 ? 0 : errno;
  // A missing file could be put there later.
  if (auto checked = check_({folder.path, folder.about, part.about}); !checked) return checked;
  if (error != 0) return fail_errno(error, "'" + part.path.native() + "'");
  if (S_ISLNK(part.about.st_mode)) return follow(part.fd, part.path);
  if (rest_.empty())
    reached_ = {{}, std::move(part.path), part.about};
  else
    at_.push_back(std::move(part));
  return {};
}

Status Walk::follow(const UniqueFd& link, const fs::path& path) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = ::readlinkat(link.get(), "", text.data(), text.size());
  if (size <= 0) return fail_errno(size < 0 ? errno : ENOENT, fmt::format("cannot follow '{}'", path.native()));
  if (++links_ > kMaxLinks) return fail(Code::kFailedPrecondition, "'{}' is a loop of links", path.native());
  const fs::path target(std::string_view(text.data(), static_cast<std::size_t>(size)));
  go_first(target);
  return target.is_absolute() ? enter_root() : Status{};
}

}  // namespace

Result<WalkedPath> walk(const fs::path& path, const PathCheck& check) { return Walk(path, check).run(); }

Status check_step(const PathStep& step) {
  const std::string& folder = step.folder_path.native();
  if (!is_trusted(step.folder.st_uid))
    return fail(Code::kPermissionDenied,
                "folder '{0}' belongs to uid {1}, who could put another file there: chown root {0}", folder,
                step.folder.st_uid);
  if ((step.folder.st_mode & kWritersBesideOwner) == 0) return {};
  const bool stays = (step.folder.st_mode & S_ISVTX) != 0 && S_ISDIR(step.part.st_mode) && is_trusted(step.part.st_uid);
  if (stays) return {};
  return fail(Code::kPermissionDenied,
              "folder '{0}' is writable by others than its owner (mode {1:04o}), who could put another file there: "
              "chmod go-w {0}, or move the file to a folder of root",
              folder, step.folder.st_mode & 07777U);
}

Status check_file(const WalkedPath& file) {
  if (!is_trusted(file.about.st_uid))
    return fail(Code::kPermissionDenied, "'{0}' belongs to uid {1}, who could change it: chown root {0}",
                file.path.native(), file.about.st_uid);
  if ((file.about.st_mode & kWritersBesideOwner) != 0)
    return fail(Code::kPermissionDenied, "'{0}' is writable by others than its owner (mode {1:04o}): chmod go-w {0}",
                file.path.native(), file.about.st_mode & 07777U);
  return {};
}

}  // namespace cardcage
