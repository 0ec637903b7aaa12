#include "host/sandbox/attachments.h"

#include <algorithm>

#include "host/core/file.h"

namespace cardcage {

Status Attachments::add(const Attachment& attachment, const AttachedPod& pod) const {
  if (auto made = make_folder(folder_, 0700); !made) return made;
  return write_file_atomically(folder_ / attachment_file_name(attachment), to_text(pod), 0600, false);
}

void Attachments::remove(const Attachment& attachment) const {
  std::error_code ignored;
  std::filesystem::remove(folder_ / attachment_file_name(attachment), ignored);
}

void Attachments::remove_all(const std::string& driver, const std::string& claim_uid) const {
  const auto its = [&](const Attachment& one) { return one.driver == driver && one.claim_uid == claim_uid; };
  for (const Attachment& attachment : find(its)) remove(attachment);
}

std::vector<Attachment> Attachments::find(const std::function<bool(const Attachment&)>& wanted) const {
  std::vector<Attachment> found;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, failed))
    if (auto attachment = parse_attachment_file_name(entry.path().filename().native());
        attachment && wanted(*attachment))
      found.push_back(std::move(*attachment));
  std::ranges::sort(found);
  return found;
}

}  // namespace cardcage
