#include "host/nri/sandbox_message.h"

#include "host/model/text_rules.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxUid = 128;  // a UUID, or a hash for a static pod from a file
constexpr std::size_t kMaxShown = 64;

bool is_uid(std::string_view text) {
  return text.size() <= kMaxUid && is_device_id(text) && text.find('/') == std::string_view::npos;
}

// A network namespace without a path is shared with the node.
std::string_view network_namespace(const api::nri::PodSandbox& message) {
  for (const auto& one : message.linux().namespaces())
    if (one.type() == "network") return one.path();
  return {};
}

}  // namespace

Result<std::optional<RuntimeSandbox>> read_pod_sandbox(const api::nri::PodSandbox& message) {
  if (!is_uid(message.uid()) || !is_entry_name(message.namespace_()) || !is_entry_name(message.name()))
    return std::nullopt;
  const std::string_view path = network_namespace(message);
  if (!path.empty() && !is_clean_path(path))
    return fail(Code::kInvalidArgument, "the network namespace '{}' of a pod sandbox is not valid",
                printable(path, kMaxShown));
  RuntimeSandbox sandbox{.id = message.id(), .pod = {}};
  sandbox.pod.uid = message.uid();
  sandbox.pod.name_space = message.namespace_();
  sandbox.pod.name = message.name();
  sandbox.pod.network_namespace = path;
  return sandbox;
}

}  // namespace cardcage
