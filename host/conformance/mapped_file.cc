#include "host/conformance/mapped_file.h"

#include <fcntl.h>
#include <sys/statvfs.h>

#include <system_error>
#include <utility>

namespace cardcage {

namespace fs = std::filesystem;

void map_from_folder(StagedModule& staged, const fs::path& folder) {
  const fs::path file = folder / staged.path.filename();
  std::error_code failed;
  fs::create_directory(folder, failed);
  fs::copy_file(fmt::format("/proc/self/fd/{}", staged.image.get()), file, failed);
  UniqueFd copy(failed ? -1 : ::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct statvfs about{};
  if (copy && ::fstatvfs(copy.get(), &about) == 0 && (about.f_flag & ST_NOEXEC) == 0) staged.image = std::move(copy);
}

}  // namespace cardcage
