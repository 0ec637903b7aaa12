// Records which claims are attached to which network namespaces, as files in a folder on a tmpfs of the node.
//
// The daemon writes a file when a module has attached the claim's devices, and removes it before they are taken back.
// So the hook can let a container start again while the daemon is away. The kernel reuses the number of a namespace
// that has ended: that is why a file names the sandbox as well, and the hook compares it.
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

// The content of a file: a line with the UID, one with the sandbox, and one for each interface.
struct AttachedPod {
  std::string uid, sandbox;             // empty if the container runtime did not tell
  std::vector<std::string> interfaces;  // interfaces of the claim in this namespace
  friend bool operator==(const AttachedPod&, const AttachedPod&) = default;
};
// Hooks of the first protocol take the line of the sandbox for an interface, find none, and ask the daemon.
std::string to_text(const AttachedPod& pod);
// kNotFound if the claim is not attached. The sandbox is empty if a daemon of the first protocol wrote the file.
Result<AttachedPod> read_attachment(const std::filesystem::path& folder, const Attachment& attachment);

}  // namespace cardcage
