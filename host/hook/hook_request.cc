#include "host/hook/hook_request.h"

namespace cardcage {
namespace {

// Sorted by the order of the lines. The first protocol ends before the sandbox.
constexpr std::string HookRequest::* kFirstFields[] = {&HookRequest::driver, &HookRequest::claim_uid,
                                                       &HookRequest::pod_namespace, &HookRequest::pod,
                                                       &HookRequest::pod_uid};
constexpr std::string_view kProtocolPrefix = "cardcage-hook/";  // no driver's name has a '/'

// False without another whole line.
bool take_line(std::string_view& message, std::string& line) {
  const auto end = message.find('\n');
  if (end == std::string_view::npos) return false;
  line = message.substr(0, end);
  message.remove_prefix(end + 1);
  return true;
}

}  // namespace

std::string to_first_message(const HookRequest& request) {
  std::string message;
  for (const auto field : kFirstFields) message += request.*field + "\n";
  return message;
}

std::string to_message(const HookRequest& request) {
  return fmt::format("{}\n{}{}\n", kHookProtocol, to_first_message(request), request.sandbox);
}

Result<HookRequest> hook_request_from(std::string_view message) {
  const bool names_protocol = message.starts_with(kProtocolPrefix);
  std::string protocol;
  if (names_protocol && take_line(message, protocol) && protocol != kHookProtocol)
    return fail(Code::kUnimplemented,
                "the container hook speaks protocol {} and this cardcage {}; restart cardcage, which installs its own "
                "hook",
                protocol, kHookProtocol);
  HookRequest request;
  bool whole = true;
  for (const auto field : kFirstFields) whole = whole && take_line(message, request.*field);
  if (names_protocol) whole = whole && take_line(message, request.sandbox);
  if (!whole || !message.empty() || request.driver.empty() || request.claim_uid.empty())
    return fail(Code::kInvalidArgument, "the message of the container hook cannot be read");
  return request;
}

}  // namespace cardcage
