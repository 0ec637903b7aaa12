#include "host/apiserver/object_name.h"

#include "host/model/naming.h"

namespace cardcage {

Status check_namespace(std::string_view name_space) {
  if (is_dns_label(name_space)) return {};
  return fail(Code::kInvalidArgument, "namespace '{}' is not a DNS label of at most {} characters",
              name_space.substr(0, kMaxDnsSubdomain), kMaxDnsLabel);
}

Status check_object_name(std::string_view name, std::string_view what) {
  if (is_dns_subdomain(name)) return {};
  return fail(Code::kInvalidArgument, "{} '{}' is not a DNS subdomain of at most {} characters", what,
              name.substr(0, kMaxDnsSubdomain), kMaxDnsSubdomain);
}

}  // namespace cardcage
