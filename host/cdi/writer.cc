#include "host/cdi/writer.h"

#include <unistd.h>

#include <cerrno>

#include "host/core/file.h"

namespace cardcage {
namespace {

// Far more than 32 devices with everything that a module may ask for.
constexpr std::size_t kMaxFileBytes = 8u << 20;

// ".cardcage.gpu.example.com-claim_<uid>.json.tmp", as write_file_atomically names it.
bool is_half_written(std::string_view name) {
  constexpr std::string_view kTail = ".tmp";
  if (!name.starts_with('.') || !name.ends_with(kTail)) return false;
  return parse_claim_file_name(name.substr(1, name.size() - 1 - kTail.size())).has_value();
}

// Every name in the folder; empty if the folder is missing.
Result<std::vector<std::string>> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().native());
  if (error && error != std::errc::no_such_file_or_directory)
    return fail_errno(error.value(), fmt::format("cannot read the CDI folder '{}'", folder.native()));
  return names;
}

}  // namespace

std::unexpected<Error> CdiWriter::explain(Error error) const {
  if (error.code == Code::kPermissionDenied)
    error.message += fmt::format(
        "; mount the CDI folder '{}' writable, or set [node] cdi_dir to a writable folder that the container runtime "
        "reads",
        folder_.native());
  if (error.code == Code::kResourceExhausted)
    error.message += fmt::format("; free space in the CDI folder '{}', then try again", folder_.native());
  return std::unexpected(std::move(error));
}

Status CdiWriter::write(const std::string& driver, const std::string& claim_uid, const CdiSpec& spec) const {
  const auto content = serialize_cdi(spec);
  if (!content) return std::unexpected(content.error());
  for (const MetadataFile& file : spec.files)
    if (auto written = write_metadata(file); !written) return written;
  const auto path = path_of(driver, claim_uid);
  auto written = write_file_atomically(path, *content, 0644, false);
  if (!written && written.error().code == Code::kNotFound) {
    // The folder is often on a tmpfs, which may be cleared while the daemon runs.
    if (auto made = make_folder(folder_, 0755); !made) return explain(made.error());
    written = write_file_atomically(path, *content, 0644, false);
  }
  return written ? written : explain(written.error());
}

Status CdiWriter::remove(const std::string& driver, const std::string& claim_uid) const {
  const auto path = path_of(driver, claim_uid);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return explain(fail_errno(errno, fmt::format("cannot remove '{}'", path.native())).error());
  return metadata_.empty() ? Status() : remove_metadata(metadata_folder(driver, claim_uid));
}

Result<std::vector<ClaimFile>> CdiWriter::list() const {
  const auto names = names_in(folder_);
  if (!names) return std::unexpected(names.error());
  std::vector<ClaimFile> files;
  for (const std::string& name : *names)
    if (auto file = parse_claim_file_name(name)) files.push_back(std::move(*file));
  return files;
}

Result<CdiSpec> CdiWriter::read(const ClaimFile& file) const {
  const auto path = folder_ / claim_file_name(file.served, file.uid);
  const auto content = read_file(path, kMaxFileBytes);
  if (!content) return std::unexpected(content.error());
  auto spec = parse_cdi(*content);
  if (!spec) return within(spec.error(), "'{}'", path.native());
  return spec;
}

Result<std::size_t> CdiWriter::sweep(const std::function<bool(const ClaimFile&)>& keep) const {
  const auto names = names_in(folder_);
  if (!names) return std::unexpected(names.error());
  std::size_t removed = 0;
  for (const std::string& name : *names) {
    const auto file = parse_claim_file_name(name);
    if (file ? keep(*file) : !is_half_written(name)) continue;
    const auto path = folder_ / name;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
      return explain(fail_errno(errno, fmt::format("cannot remove '{}'", path.native())).error());
    ++removed;
  }
  if (auto swept = sweep_metadata(keep); !swept) return std::unexpected(swept.error());
  return removed;
}

}  // namespace cardcage
