#include "host/hook/attachment_files.h"

#include <charconv>
#include <fstream>

namespace cardcage {

// No interface has this name, because names of interfaces have no '/'.
static constexpr std::string_view kSandbox = "sandbox/";

std::string attachment_file_name(const Attachment& attachment) {
  return fmt::format("{}_{}_{}", attachment.driver, attachment.claim_uid, attachment.network_namespace);
}

// Neither drivers nor UIDs have a '_'.
std::optional<Attachment> parse_attachment_file_name(std::string_view name) {
  const auto first = name.find('_'), last = name.rfind('_');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  Attachment attachment{.driver = std::string(name.substr(0, first)),
                        .claim_uid = std::string(name.substr(first + 1, last - first - 1)),
                        .network_namespace = 0};
  const std::string_view number = name.substr(last + 1);
  std::from_chars(number.data(), number.data() + number.size(), attachment.network_namespace);
  if (attachment_file_name(attachment) != name) return std::nullopt;
  return attachment;
}

std::string to_text(const AttachedPod& pod) {
  std::string text = fmt::format("{}\n{}{}\n", pod.uid, kSandbox, pod.sandbox);
  for (const std::string& interface : pod.interfaces) text += interface + "\n";
  return text;
}

Result<AttachedPod> read_attachment(const std::filesystem::path& folder, const Attachment& attachment) {
  std::ifstream file(folder / attachment_file_name(attachment));
  AttachedPod pod;
  if (!std::getline(file, pod.uid)) return fail(Code::kNotFound, "claim {} is not attached", attachment.claim_uid);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(kSandbox))
      pod.sandbox = line.substr(kSandbox.size());
    else
      pod.interfaces.push_back(line);
  return pod;
}

}  // namespace cardcage
