#include "host/ledger/intents.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <limits>

#include "host/core/bounded.h"
#include "host/core/file.h"
#include "host/core/log.h"
#include "host/ledger/damaged_file.h"

namespace cardcage {
namespace {

constexpr std::size_t kShortenAbove = 1u << 20;
// The part of a rewrite that one change does: less than a millisecond of work.
constexpr std::size_t kStepBytes = 64u << 10;
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

Status write_line(const UniqueFd& file, std::size_t& size, std::string_view line) {
  const ssize_t written = ::write(file.get(), line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) {
    size += line.size();
    return {};
  }
  const int error = written < 0 ? errno : ENOSPC;
  std::ignore = ::ftruncate(file.get(), static_cast<off_t>(size));  // or the next line would follow half of this one
  return fail_errno(error, "write");
}

// True if the path leads to the open file or folder.
bool is_at(const UniqueFd& fd, const std::filesystem::path& path) {
  struct stat opened{}, there{};
  return ::fstat(fd.get(), &opened) == 0 && ::stat(path.c_str(), &there) == 0 && opened.st_dev == there.st_dev &&
         opened.st_ino == there.st_ino;
}

// True if the file's name was removed, or given to another file.
bool has_lost_its_name(const UniqueFd& file) {
  struct stat status{};
  return ::fstat(file.get(), &status) != 0 || status.st_nlink == 0;
}

}  // namespace

Intents::Intents(std::filesystem::path file, std::string boot_id)
    : file_(std::move(file)),
      successor_file_(file_.parent_path() / ("." + file_.filename().native() + ".tmp")),
      boot_id_(std::move(boot_id)) {}

Result<Intents> Intents::open(std::filesystem::path file, std::string boot_id, WallTime now) {
  Intents intents(std::move(file), std::move(boot_id));
  if (auto locked = intents.lock_folder(); !locked) return std::unexpected(locked.error());
  const auto readable = intents.read(now);
  if (!readable) return std::unexpected(readable.error());
  if (auto started = intents.start_journal(*readable); !started) return std::unexpected(started.error());
  return intents;
}

// Without space for a shorter file, a readable one is used as it is.
Status Intents::start_journal(bool readable) {
  const Status rewritten = rewrite();
  if (rewritten || !readable) return rewritten;
  journal_ = UniqueFd(::open(file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!journal_ || ::ftruncate(journal_.get(), static_cast<off_t>(size_)) != 0) return rewritten;
  log(LogLevel::kWarn, "cannot shorten the file of the latest changes of claims; it is used as it is",
      {{"file", file_.native()}, {"error", rewritten.error().message}});
  shorten_above_ = size_ + kShortenAbove;
  return {};
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
  log(LogLevel::kWarn, "wrote the latest changes of claims again; their file had been removed",
      {{"file", file_.native()}, {"claims", entries_.size()}});
  return {};
}

// True if it is a file of this boot that was not set aside; then `size_` is the size of its complete lines.
Result<bool> Intents::read(WallTime now) {
  std::error_code unknown;
  if (!std::filesystem::exists(file_, unknown)) return false;
  if (!std::filesystem::is_regular_file(file_, unknown))
    return fail(Code::kInvalidArgument, "'{}' is not a regular file", file_.native());
  std::ifstream lines(file_, std::ios::binary);
  if (!lines) return fail_errno(errno, fmt::format("cannot open '{}'", file_.native()));
  std::string line;
  if (!std::getline(lines, line) || line != boot_id_) return false;
  size_ = line.size() + 1;
  bool intact = true;
  for (; std::getline(lines, line) && !lines.eof(); size_ += line.size() + 1) intact = read_line(line) && intact;
  if (lines.bad()) return fail(Code::kUnavailable, "cannot read '{}'", file_.native());
  if (intact) return true;
  const auto aside = set_aside(file_, now);
  if (!aside) return std::unexpected(aside.error());
  log(LogLevel::kError,
      "the file of the latest changes of claims is damaged and was set aside; its readable lines count, "
      "and the modules release what the others were about",
      {{"file", file_.native()}, {"aside", aside->native()}});
  return false;
}

bool Intents::read_line(std::string_view line) {
  if (line.empty() || (line[0] != kSet && line[0] != kReleased && line[0] != kSettled)) return false;
  const char sign = line[0];
  line.remove_prefix(1);
  Entry entry{.record = nullptr, .bytes = line.size() + 2};  // with the sign and the end
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
    remove_entry(key);
  else
    set_entry(key, std::move(entry));
  return true;
}

void Intents::set_entry(const ClaimKey& key, Entry entry) {
  remove_entry(key);
  bytes_ += entry.bytes;
  entries_.emplace(key, std::move(entry));
}

void Intents::remove_entry(const ClaimKey& key) {
  const auto entry = entries_.find(key);
  if (entry == entries_.end()) return;
  bytes_ -= entry->second.bytes;
  entries_.erase(entry);
}

Status Intents::set(std::shared_ptr<const ClaimRecord> record) { return put({.record = std::move(record)}); }

Status Intents::set_released(std::shared_ptr<const ClaimRecord> record, WallTime when) {
  return put({.record = std::move(record), .released = when});
}

Status Intents::put(Entry entry) {
  const std::string line = line_of(entry);
  if (auto written = append(line); !written) return written;
  entry.bytes = line.size();
  const ClaimKey key = entry.record->key();
  set_entry(key, std::move(entry));
  shorten(line);
  return {};
}

void Intents::clear(const std::vector<ClaimKey>& claims) {
  std::string lines;
  for (const ClaimKey& key : claims) {
    if (!entries_.contains(key)) continue;
    remove_entry(key);
    ClaimRecord settled;
    settled.driver = key.driver;
    settled.ref.uid = key.uid;
    lines += fmt::format("{}{}\n", kSettled, record_to_json(settled));
  }
  if (lines.empty()) return;
  if (const auto written = append(lines); !written)
    log(LogLevel::kWarn, "cannot write that claims are settled; the next start will look at them once more",
        {{"claims", claims.size()}, {"error", written.error().message}});
  shorten(lines);
}

Status Intents::append(std::string_view line) {
  // Checked for each line, so without a walk along the path, which would cost more than the write.
  if (has_lost_its_name(journal_))
    if (auto there = restore(); !there) return there;
  auto written = write_line(journal_, size_, line);
  if (!written && successor_) {  // the successor may have taken the space
    give_up_successor();
    written = write_line(journal_, size_, line);
  }
  if (written) return {};
  return with_remedy(within(written.error(), "cannot write '{}'", file_.native()).error());
}

// Does a part of a rewrite after each change: a large rewrite must not hold up the core. A failed one costs only space.
void Intents::shorten(std::string_view line) {
  if (!successor_ && size_ <= shorten_above_) return;
  Status done = successor_ ? write_line(successor_->file, successor_->size, line) : begin_successor();
  if (done) done = copy_entries(kStepBytes + 2 * line.size());
  if (done && successor_->complete) done = take_successor();
  if (done) return;
  give_up_successor();
  log_limited(LogLevel::kWarn, "intents",
              "cannot shorten the file of the latest changes of claims; it is used as it is",
              {{"file", file_.native()}, {"error", done.error().message}});
}

Status Intents::begin_successor() {
  successor_ = Successor();
  successor_->file =
      UniqueFd(::open(successor_file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!successor_->file) return fail_errno(errno, "open");
  return write_line(successor_->file, successor_->size, boot_id_ + "\n");
}

// Copies at least `budget` bytes of the entries, if there are as many.
Status Intents::copy_entries(std::size_t budget) {
  auto entry = successor_->last ? entries_.upper_bound(*successor_->last) : entries_.begin();
  const std::size_t enough = successor_->size + std::min(budget, std::numeric_limits<std::size_t>::max() / 2);
  for (; entry != entries_.end() && successor_->size < enough; ++entry) {
    if (auto copied = write_line(successor_->file, successor_->size, line_of(entry->second)); !copied) return copied;
    successor_->last = entry->first;
  }
  successor_->complete = entry == entries_.end();
  return {};
}

Status Intents::take_successor() {
  if (::rename(successor_file_.c_str(), file_.c_str()) != 0) return fail_errno(errno, "rename");
  journal_ = std::move(successor_->file);
  size_ = successor_->size;
  shorten_above_ = std::max(kShortenAbove, 2 * size_);
  successor_.reset();
  return {};
}

// The next attempt follows once the journal has grown as much again.
void Intents::give_up_successor() {
  ::unlink(successor_file_.c_str());
  successor_.reset();
  shorten_above_ = size_ + std::max(kShortenAbove, bytes_);
}

// Rewrites the journal in one step.
Status Intents::rewrite() {
  auto done = begin_successor();
  if (done) done = copy_entries(std::numeric_limits<std::size_t>::max());
  if (done) done = take_successor();
  if (done) return {};
  give_up_successor();
  return with_remedy(within(done.error(), "cannot write '{}'", file_.native()).error());
}

}  // namespace cardcage
