#include "host/nri/sandbox_message.h"

#include "host/model/text_rules.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxUid = 128;  // a UUID, or a hash for a pod from a file of the node
constexpr std::size_t kMaxShown = 64;

bool is_uid(std::string_view text) {
  return text.size() <= kMaxUid && is_device_id(text) && text.find('/') == std::string_view::npos;
}

// A network namespace without a path is one that the runtime shares with the node.
std::string_view network_namespace(const api::nri::PodSandbox& message) {
  for (const auto& one : message.linux().namespaces())
    if (one.type() == "network") return one.path();
  return {};
}

}  // namespace

Result<PodSandbox> read_pod_sandbox(const api::nri::PodSandbox& message) {
  const auto refuse = [](std::string_view what, std::string_view text) {
    return fail(Code::kInvalidArgument, "the {} '{}' of a pod sandbox is not valid", what, printable(text, kMaxShown));
  };
  const std::string_view path = network_namespace(message);
  if (!is_uid(message.uid())) return refuse("UID", message.uid());
  if (!is_entry_name(message.namespace_())) return refuse("namespace", message.namespace_());
  if (!is_entry_name(message.name())) return refuse("name", message.name());
  if (!path.empty() && !is_clean_path(path)) return refuse("network namespace", path);
  PodSandbox sandbox;
  sandbox.uid = message.uid();
  sandbox.name_space = message.namespace_();
  sandbox.name = message.name();
  sandbox.network_namespace = path;
  return sandbox;
}

}  // namespace cardcage
