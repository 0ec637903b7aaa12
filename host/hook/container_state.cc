#include "host/hook/container_state.h"

#include <boost/json/parse.hpp>

#include "host/core/pid.h"

namespace cardcage {
namespace {

std::string annotation(const boost::json::value* all, std::initializer_list<std::string_view> names) {
  const boost::json::object* const annotations = all != nullptr ? all->if_object() : nullptr;
  for (const std::string_view name : names)
    if (const boost::json::value* one = annotations != nullptr ? annotations->if_contains(name) : nullptr;
        one != nullptr && one->is_string() && one->get_string().find('\n') == std::string_view::npos)
      return std::string(one->get_string());
  return "";
}

}  // namespace

Result<ContainerState> parse_container_state(std::string_view json) {
  boost::system::error_code error;
  const boost::json::value parsed = boost::json::parse(json, error);
  const boost::json::object* const state = error ? nullptr : parsed.if_object();
  const boost::json::value* const pid = state != nullptr ? state->if_contains("pid") : nullptr;
  if (state == nullptr) return fail(Code::kInvalidArgument, "the container runtime gives no state of a container");
  const boost::json::value* const bundle = state->if_contains("bundle");
  const boost::json::value* const all = state->if_contains("annotations");
  return ContainerState{
      .pid = pid != nullptr && pid->is_int64() ? valid_pid(pid->get_int64()) : std::nullopt,
      .bundle = bundle != nullptr && bundle->is_string() ? std::string(bundle->get_string()) : std::string(),
      .pod_namespace = annotation(all, {"io.kubernetes.cri.sandbox-namespace", "io.kubernetes.pod.namespace"}),
      .pod = annotation(all, {"io.kubernetes.cri.sandbox-name", "io.kubernetes.pod.name"}),
      .pod_uid = annotation(all, {"io.kubernetes.cri.sandbox-uid", "io.kubernetes.pod.uid"}),
      .sandbox = annotation(all, {"io.kubernetes.cri.sandbox-id", "io.kubernetes.cri-o.SandboxID"})};
}

}  // namespace cardcage
