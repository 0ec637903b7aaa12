#include "host/supervision/quiesce_marks.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <sstream>

#include "host/core/bounded.h"
#include "host/core/file.h"
#include "host/core/log.h"
#include "host/core/timestamp.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr std::size_t kMaxText = 256, kMaxFile = 4096;
// Separates the name of a module from that of its device.
constexpr char kOfDevice = '@';

}  // namespace

std::string to_string(const QuiesceMark& mark) {
  return fmt::format("by {} since {}{}", mark.by, timestamp(mark.since),
                     mark.reason.empty() ? "" : fmt::format(" ({})", mark.reason));
}

QuiesceMarks::QuiesceMarks(fs::path folder, std::string boot_id)
    : folder_(std::move(folder)), boot_id_(std::move(boot_id)) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder_, none))
    if (!entry.path().filename().native().starts_with('.')) read(entry.path());
}

fs::path QuiesceMarks::file_of(const std::string& module, const QuiesceMark& mark) const {
  return folder_ / (mark.device_id.empty() ? module : module + kOfDevice + mark.device);
}

// The file has lines: boot, milliseconds since 1970, operator, reason, and the device's id and name.
void QuiesceMarks::read(const fs::path& file) {
  const auto content = read_file(file, kMaxFile);
  std::istringstream lines(content.value_or(""));
  std::string boot, since;
  QuiesceMark mark;
  if (!std::getline(lines, boot) || !std::getline(lines, since) || !std::getline(lines, mark.by)) {
    log(LogLevel::kError, "a quiesce mark is ignored: it cannot be read",
        {{"file", file.native()}, {"error", content ? "it is incomplete" : content.error().message}});
    return;
  }
  std::getline(lines, mark.reason);
  std::getline(lines, mark.device_id);
  std::getline(lines, mark.device);
  if (boot != boot_id_) {
    std::error_code ignored;
    fs::remove(file, ignored);
    return;
  }
  std::int64_t number = 0;
  std::from_chars(since.data(), since.data() + since.size(), number);
  mark.since = bounded_wall_time(number);
  const std::string name = file.filename().native();
  marks_[name.substr(0, name.find(kOfDevice))].insert_or_assign(mark.device_id, mark);
}

const QuiesceMark* QuiesceMarks::find(const std::string& module, const std::string& device_id) const {
  const auto its = marks_.find(module);
  if (its == marks_.end()) return nullptr;
  const auto entry = its->second.find(device_id);
  return entry == its->second.end() ? nullptr : &entry->second;
}

std::vector<QuiesceMark> QuiesceMarks::of_devices(const std::string& module) const {
  std::vector<QuiesceMark> found;
  if (const auto its = marks_.find(module); its != marks_.end())
    for (const auto& [device_id, mark] : its->second)
      if (!device_id.empty()) found.push_back(mark);
  return found;
}

Status QuiesceMarks::set(const std::string& module, QuiesceMark mark) {
  mark.by = printable(mark.by, kMaxText);
  mark.reason = printable(mark.reason, kMaxText);
  if (auto written = write(module, mark); !written) return written;
  marks_[module].insert_or_assign(mark.device_id, mark);
  return {};
}

// Writes without a sync: the mark need not outlive the node.
Status QuiesceMarks::write(const std::string& module, const QuiesceMark& mark) const {
  if (auto made = make_folder(folder_, 0700); !made) return made;
  const auto since = std::chrono::duration_cast<milliseconds>(mark.since.time_since_epoch()).count();
  const std::string content =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", boot_id_, since, mark.by, mark.reason, mark.device_id, mark.device);
  return write_file_atomically(file_of(module, mark), content, 0600, /*durable=*/false);
}

Status QuiesceMarks::restore() const {
  std::error_code unknown;
  for (const auto& [module, its] : marks_)
    for (const auto& [device_id, mark] : its) {
      if (fs::exists(file_of(module, mark), unknown)) continue;
      if (auto written = write(module, mark); !written) return written;
    }
  return {};
}

Status QuiesceMarks::clear(const std::string& module, const std::string& device_id) {
  const QuiesceMark* const mark = find(module, device_id);
  if (!mark) return {};
  const fs::path file = file_of(module, *mark);
  std::error_code failed;
  fs::remove(file, failed);
  if (failed) return fail_errno(failed.value(), fmt::format("cannot remove '{}'", file.native()));
  marks_[module].erase(device_id);
  return {};
}

}  // namespace cardcage
