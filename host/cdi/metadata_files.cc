// The metadata files that CdiWriter keeps beside its spec files.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "host/cdi/writer.h"
#include "host/core/file.h"
#include "host/core/unique_fd.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxMetadata = std::size_t{8} << 20;

Status cannot_write(const std::filesystem::path& path) {
  const auto failed = fail_errno(errno, fmt::format("cannot write '{}'", path.native()));
  return fail(failed.error().code, "{}; make its folder writable or set [node] run_dir to one that is",
              failed.error().message);
}

// Keeps the inode, which containers have mounted, and truncates the file last.
Status write_in_place(const std::filesystem::path& path, std::string_view content) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file || ::fchmod(file.get(), 0644) != 0) return cannot_write(path);
  if (!write_all(file.get(), content)) return cannot_write(path);
  return ::ftruncate(file.get(), static_cast<off_t>(content.size())) == 0 ? Status() : cannot_write(path);
}

}  // namespace

// Has the name of the claim's spec file, so that its owner can be read from it.
std::filesystem::path CdiWriter::metadata_folder(const std::string& driver, const std::string& claim_uid) const {
  return metadata_ / std::filesystem::path(claim_file_name(served_name_from_stored(driver), claim_uid)).stem();
}

// Leaves a file with equal content alone, so that a reader in a container sees no needless change.
Status CdiWriter::write_metadata(const MetadataFile& file) const {
  const std::filesystem::path path = file.host_path;
  if (const auto known = read_file(path, kMaxMetadata); known && *known == file.content) return {};
  if (auto made = make_folder(path.parent_path(), 0755); !made) return made;
  return write_in_place(path, file.content);
}

Status CdiWriter::remove_metadata(const std::filesystem::path& claim_folder) const {
  std::error_code failure;
  std::filesystem::remove_all(claim_folder, failure);
  if (!failure) return {};
  return fail_errno(failure.value(), fmt::format("cannot remove '{}'", claim_folder.native()));
}

Status CdiWriter::sweep_metadata(const std::function<bool(const ClaimFile&)>& keep) const {
  if (metadata_.empty()) return {};
  std::error_code ignored;  // a missing folder is empty
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(metadata_, ignored)) folders.push_back(entry.path());
  for (const auto& folder : folders) {
    const auto owner = parse_claim_file_name(folder.filename().native() + ".json");
    if (!owner || keep(*owner)) continue;
    if (auto removed = remove_metadata(folder); !removed) return removed;
  }
  return {};
}

}  // namespace cardcage
