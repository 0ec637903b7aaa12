#include "host/kubelet/socket_records.h"

#include <sstream>
#include <vector>

#include "host/core/file.h"
#include "host/core/log.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxRecord = 4096;

std::vector<fs::path> recorded(const fs::path& record) {
  std::vector<fs::path> paths;
  std::istringstream lines(read_file(record, kMaxRecord).value_or(""));
  for (std::string line; std::getline(lines, line);) paths.emplace_back(line);
  return paths;
}

}  // namespace

void keep_socket_record(const fs::path& folder, const std::string& driver, const DriverSockets& sockets) {
  const std::vector<fs::path> wanted{sockets.registration, sockets.service}, former = recorded(folder / driver);
  if (former == wanted) return;
  for (const fs::path& path : former)
    if (path != sockets.registration && path != sockets.service) remove_stale_socket(path);
  Status kept = make_folder(folder, 0700);
  if (kept)
    kept = write_file_atomically(
        folder / driver, fmt::format("{}\n{}\n", sockets.registration.native(), sockets.service.native()), 0600, false);
  if (!kept)
    log_limited(LogLevel::kWarn, "socket record " + driver,
                "if this daemon is killed and the driver is no longer configured, its sockets stay",
                {{"driver", driver}, {"error", kept.error().message}});
}

std::map<std::string, DriverSockets> recorded_sockets(const fs::path& folder) {
  std::map<std::string, DriverSockets> found;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
    if (const auto paths = recorded(entry->path()); paths.size() == 2)
      found.emplace(entry->path().filename().native(), DriverSockets{.registration = paths[0], .service = paths[1]});
  return found;
}

void remove_recorded_sockets(const fs::path& folder, const std::set<std::string>& served) {
  std::error_code failed;
  std::vector<fs::path> records;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
    if (!served.contains(entry->path().filename().native())) records.push_back(entry->path());
  for (const fs::path& record : records) {
    for (const fs::path& path : recorded(record)) remove_stale_socket(path);
    fs::remove(record, failed);
  }
}

}  // namespace cardcage
