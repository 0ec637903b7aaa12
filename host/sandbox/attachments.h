// The daemon's side of attachment_files.h.
#pragma once

#include <functional>

#include "host/hook/attachment_files.h"

namespace cardcage {

// [core]
class Attachments {
 public:
  explicit Attachments(std::filesystem::path folder) : folder_(std::move(folder)) {}

  Status add(const Attachment& attachment, const AttachedPod& pod) const;
  // Does nothing if the attachment does not exist.
  void remove(const Attachment& attachment) const;
  void remove_all(const std::string& driver, const std::string& claim_uid) const;
  // Returns the attachments that satisfy the condition, sorted. Reads the folder.
  std::vector<Attachment> find(const std::function<bool(const Attachment&)>& wanted) const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  const std::filesystem::path folder_;
};

}  // namespace cardcage
