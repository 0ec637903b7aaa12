#include "host/ledger/intents.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include "host/core/file.h"
#include "host/core/log.h"

namespace cardcage {
namespace {

constexpr std::size_t kLong = 1u << 20, kLongest = 256u << 20;
// What comes into doubt is a record, what is out of it a record with nothing but its key.
constexpr char kIn = '+', kOut = '-';

std::string line_of(char what, const ClaimRecord& record) { return what + record_to_json(record) + "\n"; }

std::unexpected<Error> with_remedy(const Error& error) {
  return fail(error.code, "{}; make its folder writable, with free space, or set [node] run_dir to one that is",
              error.message);
}

}  // namespace

Result<Intents> Intents::open(std::filesystem::path file, std::string boot_id) {
  const auto folder = file.parent_path();
  if (auto made = make_folder(folder, 0700); !made) return with_remedy(made.error());
  UniqueFd lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return fail(Code::kAborted, "another cardcage uses '{}'; two may not share one run_dir at the same time",
                  folder.native());
    return fail_errno(errno, fmt::format("cannot lock folder '{}'", folder.native()));
  }
  Intents intents(std::move(file), std::move(boot_id), std::move(lock));
  if (auto read = intents.read(); !read) return std::unexpected(read.error());
  if (auto written = intents.rewrite(); !written) return std::unexpected(written.error());
  return intents;
}

Status Intents::read() {
  std::error_code unknown;
  if (!std::filesystem::exists(file_, unknown)) return {};
  const auto content = read_file(file_, kLongest);
  if (!content) return std::unexpected(content.error());
  std::istringstream lines(*content);
  std::string line;
  if (!std::getline(lines, line) || line != boot_id_) return {};
  bool whole = true;
  while (std::getline(lines, line) && !lines.eof()) whole = take(line) && whole;
  return whole ? Status{} : set_aside();
}

bool Intents::take(const std::string& line) {
  const auto record = line.empty() ? fail(Code::kDataLoss, "") : record_from_json(std::string_view(line).substr(1));
  if (!record || (line[0] != kIn && line[0] != kOut)) return false;
  if (line[0] == kIn)
    open_[record->key()] = line + "\n";
  else
    open_.erase(record->key());
  return true;
}

Status Intents::set_aside() const {
  const std::filesystem::path aside = file_.native() + ".damaged";
  std::error_code failed;
  std::filesystem::rename(file_, aside, failed);
  if (failed) return fail_errno(failed.value(), fmt::format("cannot set the damaged '{}' aside", file_.native()));
  log(LogLevel::kError,
      "the file that says what modules are at work on is damaged and was set aside; what can be read of it counts, the "
      "rest is left to the modules",
      {{"file", file_.native()}, {"aside", aside.native()}});
  return {};
}

std::vector<ClaimRecord> Intents::all() const {
  std::vector<ClaimRecord> records;
  for (const auto& [key, line] : open_) records.push_back(record_from_json(std::string_view(line).substr(1)).value());
  return records;
}

Status Intents::set(const ClaimRecord& record) {
  std::string line = line_of(kIn, record);
  if (auto written = append(line); !written) return written;
  open_[record.key()] = std::move(line);
  return {};
}

void Intents::clear(const ClaimKey& key) {
  if (open_.erase(key) == 0) return;
  ClaimRecord out;
  out.driver = key.driver;
  out.ref.uid = key.uid;
  if (const auto written = append(line_of(kOut, out)); !written)
    log(LogLevel::kWarn, "a claim will be in doubt after the next start",
        {{"claim", key.uid}, {"error", written.error().message}});
}

Status Intents::append(std::string_view line) {
  if (size_ > kLong)
    if (auto shorter = rewrite(); !shorter) return shorter;
  const ssize_t written = ::write(journal_.get(), line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) {
    size_ += line.size();
    return {};
  }
  const int error = written < 0 ? errno : ENOSPC;
  std::ignore = ::ftruncate(journal_.get(), static_cast<off_t>(size_));  // as if nothing had been
  return with_remedy(fail_errno(error, fmt::format("cannot write '{}'", file_.native())).error());
}

// Without what is over.
Status Intents::rewrite() {
  std::string content = boot_id_ + "\n";
  for (const auto& [key, line] : open_) content += line;
  if (auto written = write_file_atomically(file_, content, 0600, false); !written) return with_remedy(written.error());
  journal_ = UniqueFd(::open(file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!journal_) return with_remedy(fail_errno(errno, fmt::format("cannot open '{}'", file_.native())).error());
  size_ = content.size();
  return {};
}

}  // namespace cardcage
