// Which claims are attached to which network namespaces, as files in a folder on a tmpfs of the node.
//
// The daemon writes a file when a module has attached the claim's devices, and removes it before they are taken back.
// So the hook can let a container start again while the daemon is away. The number of a namespace is used again once
// nobody has it: that is why the hook also looks for the interfaces that the file names.
#pragma once

#include <sys/types.h>

#include <compare>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "host/core/result.h"

namespace cardcage {

struct Attachment {
  std::string driver, claim_uid;
  ino_t network_namespace = 0;  // the number of net:[4026532281]
  friend auto operator<=>(const Attachment&, const Attachment&) = default;
};

// "nic.example.com_<uid>_4026532281"
std::string attachment_file_name(const Attachment& attachment);
// Nothing unless attachment_file_name makes exactly this name.
std::optional<Attachment> parse_attachment_file_name(std::string_view name);

// The content of a file: each in a line of its own.
struct AttachedPod {
  std::string uid;                      // empty if the container runtime did not tell
  std::vector<std::string> interfaces;  // that the claim has in there
  friend bool operator==(const AttachedPod&, const AttachedPod&) = default;
};
std::string to_text(const AttachedPod& pod);
// kNotFound if the claim is not attached.
Result<AttachedPod> read_attachment(const std::filesystem::path& folder, const Attachment& attachment);

}  // namespace cardcage
