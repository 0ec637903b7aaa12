// The CDI files of prepared claims in the folder that container runtimes watch.
//
// [core] Files are written under a dot-name that does not end in ".json", which runtimes ignore, and renamed. They are
// not synced: after a power loss they are written again from the ledger.
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
  explicit CdiWriter(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Creates the folder if it is missing; replaces an older file of the claim. kPermissionDenied when the folder is
  // read-only, kResourceExhausted when its file system is full: the texts name folder and remedy.
  Status write(const std::string& driver, const std::string& claim_uid, const CdiSpec& spec) const;
  // Ok if there is no such file.
  Status remove(const std::string& driver, const std::string& claim_uid) const;

  // Claims with a file of ours; files of others are never looked at. Empty for a folder that does not exist.
  Result<std::vector<ClaimFile>> list() const;
  Result<CdiSpec> read(const ClaimFile& file) const;
  // Removes our files of claims that `keep` refuses and what a crash left of half-written ones; returns how many.
  Result<std::size_t> sweep(const std::function<bool(const ClaimFile&)>& keep) const;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path path_of(const std::string& driver, const std::string& claim_uid) const {
    return folder_ / claim_file_name(served_name_from_stored(driver), claim_uid);
  }
  std::unexpected<Error> explain(Error error) const;

  std::filesystem::path folder_;
};

}  // namespace cardcage
