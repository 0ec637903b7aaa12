#include "host/view/state_disk.h"

#include <sys/statvfs.h>

#include <functional>
#include <utility>

#include "host/core/detached.h"

namespace cardcage {
namespace {

constexpr Duration kMeasureAgain = std::chrono::seconds(30);

}  // namespace

std::optional<DiskSpace> measure_disk(const std::filesystem::path& folder) {
  struct statvfs about{};
  if (::statvfs(folder.c_str(), &about) != 0) return std::nullopt;
  DiskSpace space{.free = static_cast<std::uint64_t>(about.f_bavail) * about.f_frsize};
  std::error_code ended;
  for (std::filesystem::recursive_directory_iterator file(folder, ended), end; !ended && file != end;
       file.increment(ended)) {
    std::error_code gone;
    if (!file->is_regular_file(gone) || gone) continue;
    const std::uintmax_t size = file->file_size(gone);
    if (!gone) space.used += size;
  }
  return space;
}

std::optional<DiskSpace> StateDisk::space() {
  if (!measuring_ && clock_.now() >= due_) {
    measuring_ = true;
    spawn(core_, measure(shared_from_this()));
  }
  return space_;
}

Task<void> StateDisk::measure(std::shared_ptr<StateDisk> self) {
  std::function<std::optional<DiskSpace>()> look = [folder = self->folder_] { return measure_disk(folder); };
  // No other thread is started while this one hangs.
  auto measured = co_await run_detached(self->core_, self->clock_, std::move(look), Instant::max());
  const std::optional<DiskSpace> latest = measured.value_or(std::nullopt);
  self->measuring_ = false;
  self->due_ = self->clock_.now() + kMeasureAgain;
  if (std::exchange(self->space_, latest) != latest) self->changes_.note({Section::kStatus});
}

}  // namespace cardcage
