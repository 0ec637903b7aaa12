#include "host/loader/descent.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <deque>
#include <vector>

namespace cardcage {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;  // as in the kernel

// True if `way`, which starts `depth` folders deep, leaves the modules folder, whose depth is 1.
bool leads_out(const fs::path& way, std::size_t depth) {
  for (const fs::path& part : way) {
    if (part != "..")
      depth += part != "." && !part.empty();
    else if (--depth == 0)
      return true;
  }
  return way.empty();
}

class Descent {
 public:
  Descent(const fs::path& folder, const fs::path& file, Trust trust)
      : folder_(folder), file_(file), trust_(trust), rest_(file.begin(), file.end()) {}

  Result<UniqueFd> open();

 private:
  struct Folder {
    UniqueFd fd;
    fs::path path;  // for messages
  };
  Status enter(UniqueFd fd, fs::path path);
  Status leave();
  Status step(const fs::path& name);
  Status follow(const UniqueFd& link, const fs::path& path);
  Status check(int fd, std::string_view what, const fs::path& path) const;
  std::unexpected<Error> cannot_open(int error) const {
    auto failed = fail_errno(error, fmt::format("cannot open module file '{}'", (folder_ / file_).native()));
    if (error == EACCES) failed.error().message += fmt::format(": make it readable for uid {}", ::geteuid());
    return failed;
  }

  const fs::path &folder_, &file_;
  const Trust trust_;
  std::deque<fs::path> rest_;
  std::vector<Folder> at_;  // from the modules folder to the current one
  int links_ = 0;
};

Result<UniqueFd> Descent::open() {
  UniqueFd root(::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return fail_errno(errno, fmt::format("cannot open modules folder '{}'", folder_.native()));
  if (auto entered = enter(std::move(root), folder_); !entered) return std::unexpected(entered.error());
  fs::path last;
  while (!rest_.empty()) {
    last = rest_.front();
    rest_.pop_front();
    if (auto stepped = step(last); !stepped) return std::unexpected(stepped.error());
  }
  // The caller checks the file by this descriptor; O_NOFOLLOW refuses a link that has taken its place meanwhile.
  UniqueFd fd(::openat(at_.back().fd.get(), last.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return cannot_open(errno);
  return fd;
}

Status Descent::enter(UniqueFd fd, fs::path path) {
  if (auto checked = check(fd.get(), "modules folder", path); !checked) return checked;
  at_.push_back({std::move(fd), std::move(path)});
  return {};
}

Status Descent::leave() {
  if (at_.size() == 1)
    return fail(Code::kInvalidArgument, "module file '{}' leaves modules_dir: give a path below it without '..'",
                (at_.back().path / "..").native());
  at_.pop_back();
  return {};
}

Status Descent::step(const fs::path& name) {
  if (name.empty() || name == ".") return {};
  if (name == "..") return leave();
  const fs::path path = at_.back().path / name;
  UniqueFd fd(::openat(at_.back().fd.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat about{};
  if (!fd || ::fstat(fd.get(), &about) != 0) return cannot_open(errno);
  if (S_ISLNK(about.st_mode)) return follow(fd, path);
  if (rest_.empty()) return {};
  return enter(std::move(fd), path);
}

Status Descent::follow(const UniqueFd& link, const fs::path& path) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = ::readlinkat(link.get(), "", text.data(), text.size());
  if (size <= 0) return cannot_open(size < 0 ? errno : ENOENT);
  const fs::path target(std::string_view(text.data(), static_cast<std::size_t>(size)));
  const std::string shown = fmt::format("'{}' -> '{}'", path.native(), target.native());
  if (++links_ > kMaxLinks)
    return fail(Code::kFailedPrecondition, "module file '{}' is reached through a loop of links, {}: remove one",
                (folder_ / file_).native(), shown);
  if (auto checked = check(link.get(), "link", path); !checked) return checked;
  fs::path way = target;
  if (target.is_absolute()) {
    way = target.lexically_relative(folder_);
    at_.resize(1);
  }
  if (leads_out(way, at_.size()))
    return fail(Code::kFailedPrecondition,
                "module file '{}' is reached through a link out of modules_dir, {}: "
                "link to what lies below it, or copy the file itself there",
                (folder_ / file_).native(), shown);
  rest_.insert(rest_.begin(), way.begin(), way.end());
  return {};
}

Status Descent::check(int fd, std::string_view what, const fs::path& path) const {
  struct stat about{};
  if (::fstat(fd, &about) != 0) return fail_errno(errno, fmt::format("cannot stat {} '{}'", what, path.native()));
  return trust_ == Trust::kAnybody ? Status{} : check_owner(about, what, path);
}

}  // namespace

Status check_owner(const struct stat& about, std::string_view what, const fs::path& path) {
  const bool link = S_ISLNK(about.st_mode);
  if (about.st_uid != 0 && about.st_uid != ::geteuid())
    return fail(Code::kPermissionDenied,
                "{} '{}' belongs to uid {}, who could run code as this daemon: chown {}root:root {}", what,
                path.native(), about.st_uid, link ? "-h " : "", path.native());
  if (!link && (about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail(Code::kPermissionDenied,
                "{} '{}' is writable by others than its owner (mode {:04o}), who could run code as this daemon: "
                "chmod go-w {}",
                what, path.native(), about.st_mode & 07777u, path.native());
  return {};
}

Result<UniqueFd> open_below(const fs::path& folder, const fs::path& file, Trust trust) {
  return Descent(folder, file, trust).open();
}

}  // namespace cardcage
