#include "host/ledger/intents.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <sstream>

#include "host/core/bounded.h"
#include "host/core/file.h"
#include "host/core/log.h"
#include "host/ledger/damaged_file.h"

namespace cardcage {
namespace {

constexpr std::size_t kRewriteAbove = 1u << 20, kMaxBytes = 256u << 20;
// Each sign has a record after it, which is only a key for a settled claim. Before the record of a released one is the
// time in milliseconds.
constexpr char kSet = '+', kReleased = '~', kSettled = '-';

std::string line_of(const Intents::Entry& entry) {
  const std::string record = record_to_json(*entry.record);
  if (!entry.released) return fmt::format("{}{}\n", kSet, record);
  return fmt::format("{}{} {}\n", kReleased, to_ms(*entry.released), record);
}

std::unexpected<Error> with_remedy(const Error& error) {
  return fail(error.code, "{}; make its folder writable, with free space, or set [node] run_dir to one that is",
              error.message);
}

// Whether the open file or folder is what the path names.
bool is_at(const UniqueFd& fd, const std::filesystem::path& path) {
  struct stat opened{}, there{};
  return ::fstat(fd.get(), &opened) == 0 && ::stat(path.c_str(), &there) == 0 && opened.st_dev == there.st_dev &&
         opened.st_ino == there.st_ino;
}

}  // namespace

Result<Intents> Intents::open(std::filesystem::path file, std::string boot_id, WallTime now) {
  Intents intents(std::move(file), std::move(boot_id));
  if (auto locked = intents.lock_folder(); !locked) return std::unexpected(locked.error());
  if (auto read = intents.read(now); !read) return std::unexpected(read.error());
  if (auto written = intents.rewrite(); !written) return std::unexpected(written.error());
  return intents;
}

Status Intents::lock_folder() {
  const auto folder = file_.parent_path();
  if (auto made = make_folder(folder, 0700); !made) return with_remedy(made.error());
  UniqueFd lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return fail(Code::kAborted, "another cardcage uses '{}'; two may not share one run_dir at the same time",
                  folder.native());
    return fail_errno(errno, fmt::format("cannot lock folder '{}'", folder.native()));
  }
  lock_ = std::move(lock);
  return {};
}

Status Intents::restore() {
  if (is_at(journal_, file_)) return {};
  if (!is_at(lock_, file_.parent_path()))
    if (auto locked = lock_folder(); !locked) return locked;
  if (auto written = rewrite(); !written) return written;
  log(LogLevel::kWarn, "wrote the latest changes of claims again; somebody had removed their file",
      {{"file", file_.native()}, {"claims", std::to_string(entries_.size())}});
  return {};
}

Status Intents::read(WallTime now) {
  std::error_code unknown;
  if (!std::filesystem::exists(file_, unknown)) return {};
  const auto content = read_file(file_, kMaxBytes);
  if (!content) return std::unexpected(content.error());
  std::istringstream lines(*content);
  std::string line;
  if (!std::getline(lines, line) || line != boot_id_) return {};
  bool intact = true;
  while (std::getline(lines, line) && !lines.eof()) intact = read_line(line) && intact;
  if (intact) return {};
  const auto aside = set_aside(file_, now);
  if (!aside) return std::unexpected(aside.error());
  log(LogLevel::kError,
      "the file of the latest changes of claims is damaged and was set aside; its readable lines count, "
      "and the modules release what the others were about",
      {{"file", file_.native()}, {"aside", aside->native()}});
  return {};
}

bool Intents::read_line(std::string_view line) {
  if (line.empty() || (line[0] != kSet && line[0] != kReleased && line[0] != kSettled)) return false;
  const char sign = line[0];
  line.remove_prefix(1);
  Entry entry;
  if (sign == kReleased) {
    std::int64_t ms = 0;
    const auto [end, bad] = std::from_chars(line.data(), line.data() + line.size(), ms);
    if (bad != std::errc() || end == line.data() + line.size() || *end != ' ') return false;
    entry.released = bounded_wall_time(ms);
    line.remove_prefix(static_cast<std::size_t>(end - line.data()) + 1);
  }
  auto record = record_from_json(line);
  if (!record) return false;
  const ClaimKey key = record->key();
  entry.record = std::make_shared<const ClaimRecord>(std::move(*record));
  if (sign == kSettled)
    entries_.erase(key);
  else
    entries_[key] = std::move(entry);
  return true;
}

Status Intents::set(std::shared_ptr<const ClaimRecord> record) { return put({std::move(record), std::nullopt}); }

Status Intents::set_released(std::shared_ptr<const ClaimRecord> record, WallTime when) {
  return put({std::move(record), when});
}

Status Intents::put(Entry entry) {
  if (auto written = append(line_of(entry)); !written) return written;
  const ClaimKey key = entry.record->key();
  entries_[key] = std::move(entry);
  return {};
}

void Intents::clear(const ClaimKey& key) {
  if (entries_.erase(key) == 0) return;
  ClaimRecord settled;
  settled.driver = key.driver;
  settled.ref.uid = key.uid;
  if (const auto written = append(fmt::format("{}{}\n", kSettled, record_to_json(settled))); !written)
    log(LogLevel::kWarn, "cannot write that a claim is settled; the next start will look at it once more",
        {{"claim", key.uid}, {"error", written.error().message}});
}

Status Intents::append(std::string_view line) {
  if (auto there = restore(); !there) return there;
  if (size_ > std::max(kRewriteAbove, 2 * rewritten_size_))
    if (auto shorter = rewrite(); !shorter) return shorter;
  const ssize_t written = ::write(journal_.get(), line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) {
    size_ += line.size();
    return {};
  }
  const int error = written < 0 ? errno : ENOSPC;
  std::ignore =
      ::ftruncate(journal_.get(), static_cast<off_t>(size_));  // or the next line would follow half of this one
  return with_remedy(fail_errno(error, fmt::format("cannot write '{}'", file_.native())).error());
}

// Without the lines of settled claims.
Status Intents::rewrite() {
  std::string content = boot_id_ + "\n";
  for (const auto& [key, entry] : entries_) content += line_of(entry);
  if (auto written = write_file_atomically(file_, content, 0600, false); !written) return with_remedy(written.error());
  journal_ = UniqueFd(::open(file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!journal_) return with_remedy(fail_errno(errno, fmt::format("cannot open '{}'", file_.native())).error());
  size_ = rewritten_size_ = content.size();
  return {};
}

}  // namespace cardcage
