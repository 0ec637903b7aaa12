// Writes the CDI files of prepared claims into the folder that container runtimes watch.
//
// [core] A file is written as a hidden file that does not end in ".json", which runtimes ignore, and then renamed. It
// is not synced: after a power loss it is written again from the ledger.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "host/cdi/names.h"
#include "host/cdi/spec.h"

namespace cardcage {

class CdiWriter {
 public:
  // `metadata` is the folder of the files that the specs mount; empty if there are none.
  explicit CdiWriter(std::filesystem::path folder, std::filesystem::path metadata = {})
      : folder_(std::move(folder)), metadata_(std::move(metadata)) {}

  // The folder of the claim's metadata files.
  std::filesystem::path metadata_folder(const std::string& driver, const std::string& claim_uid) const;

  // Writes the metadata files, then the spec file. Creates the folder if it is missing; replaces an older file of the
  // claim. Fails with kPermissionDenied if the folder is read-only and with kResourceExhausted if its file system is
  // full; the texts name the folder and the remedy.
  Status write(const std::string& driver, const std::string& claim_uid, const CdiSpec& spec) const;
  // Removes the spec file, then the metadata files. Succeeds if there are none.
  Status remove(const std::string& driver, const std::string& claim_uid) const;

  // The claims for which we wrote files; files of others are ignored. Empty if the folder does not exist.
  Result<std::vector<ClaimFile>> list() const;
  Result<CdiSpec> read(const ClaimFile& file) const;
  // Removes our files of claims for which `keep` is false, and incomplete files that a crash left. Returns the number
  // of spec files removed.
  Result<std::size_t> sweep(const std::function<bool(const ClaimFile&)>& keep) const;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path path_of(const std::string& driver, const std::string& claim_uid) const {
    return folder_ / claim_file_name(served_name_from_stored(driver), claim_uid);
  }
  std::unexpected<Error> explain(Error error) const;

  Status write_metadata(const MetadataFile& file) const;
  Status remove_metadata(const std::filesystem::path& claim_folder) const;
  Status sweep_metadata(const std::function<bool(const ClaimFile&)>& keep) const;

  std::filesystem::path folder_, metadata_;
};

}  // namespace cardcage
