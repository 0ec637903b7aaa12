#include "ctl/web/node_actions.h"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "ctl/operator_name.h"
#include "ctl/print.h"
#include "ctl/web/node_api.h"

namespace cardcage {
namespace {

namespace wire = admin::v1;
using AdminCommands = wire::Admin::StubInterface::async_interface;
using DeviceCall = DaemonClient::Method<wire::DeviceCommandRequest, wire::DeviceCommandResponse>;
using ModuleCall = DaemonClient::Method<wire::ModuleCommandRequest, wire::ModuleCommandResponse>;

// The defaults of --timeout.
constexpr std::chrono::seconds kDeviceLimit{120}, kModuleLimit{30};
constexpr std::size_t kMaxReason = 1000;

struct PageAction {
  std::string device, module, cause, reason, by;
};

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

Result<PageAction> parse_action(const WebRequest& request) {
  boost::system::error_code failed;
  const boost::json::value body = boost::json::parse(request.body, failed);
  if (failed || !body.is_object()) return fail(Code::kInvalidArgument, "the body is not a JSON object");
  PageAction action;
  action.by = request.visitor.name.empty() ? operator_name() : request.visitor.name;
  for (const auto& [key, value] : body.get_object()) {
    std::string* const member = key == "device"   ? &action.device
                                : key == "module" ? &action.module
                                : key == "cause"  ? &action.cause
                                : key == "reason" ? &action.reason
                                                  : nullptr;
    if (member == nullptr) return fail(Code::kInvalidArgument, "'{}' is not a member of an action", std::string(key));
    if (!value.is_string()) return fail(Code::kInvalidArgument, "'{}' is not a text", std::string(key));
    *member = value.get_string().c_str();
  }
  if (is_blank(action.reason)) return fail(Code::kInvalidArgument, "the reason is missing; write why you do this");
  if (action.reason.size() > kMaxReason)
    return fail(Code::kInvalidArgument, "the reason has {} bytes; write at most {}", action.reason.size(), kMaxReason);
  return action;
}

WebResponse done_response(const std::string& done) { return json_response(boost::json::object{{"done", done}}); }

template <class Request>
Request request_for(const PageAction& action, std::chrono::milliseconds limit) {
  Request request;
  request.set_device(action.device);
  request.set_module(action.module);
  request.set_by(action.by);
  request.set_reason(action.reason);
  request.set_limit_ms(limit.count());
  return request;
}

Task<WebResponse> act_on_device(DaemonClient& client, DeviceCall method, WebRequest asked) {
  const auto action = parse_action(asked);
  if (!action) co_return failure_response(action.error());
  if (action->device.empty()) co_return error_response(400, "the device is missing");
  auto request = request_for<wire::DeviceCommandRequest>(*action, kDeviceLimit);
  request.set_cause(action->cause);
  Task<Result<wire::DeviceCommandResponse>> work =
      client.call(method, std::move(request), kDeviceLimit + kCommandReserve);
  const auto response = co_await std::move(work);
  co_return response ? done_response(response->done()) : failure_response(response.error());
}

Task<WebResponse> act_on_module(DaemonClient& client, ModuleCall method, WebRequest asked) {
  const auto action = parse_action(asked);
  if (!action) co_return failure_response(action.error());
  if (action->module.empty()) co_return error_response(400, "the module is missing");
  auto request = request_for<wire::ModuleCommandRequest>(*action, kModuleLimit);
  Task<Result<wire::ModuleCommandResponse>> work =
      client.call(method, std::move(request), kModuleLimit + kCommandReserve);
  const auto response = co_await std::move(work);
  if (!response) co_return failure_response(response.error());
  co_return done_response(fmt::format("module '{}' is {}", action->module, to_text(response->state())));
}

}  // namespace

std::vector<WebRoute> node_action_routes(DaemonClient& client) {
  std::vector<WebRoute> routes;
  const auto post = [&](const char* name, WebRoute::Handler handler) {
    routes.push_back({"POST", fmt::format("/api/v1/actions/{}", name), std::move(handler)});
  };
  const auto on_device = [&](const char* name, DeviceCall method) {
    post(name, [&client, method](WebRequest asked) { return act_on_device(client, method, std::move(asked)); });
  };
  const auto on_module = [&](const char* name, ModuleCall method) {
    post(name, [&client, method](WebRequest asked) { return act_on_module(client, method, std::move(asked)); });
  };
  on_device("cordon", &AdminCommands::CordonDevice);
  on_device("uncordon", &AdminCommands::UncordonDevice);
  on_device("clear", &AdminCommands::ClearCause);
  on_device("reset", &AdminCommands::ResetDevice);
  on_module("quiesce", &AdminCommands::QuiesceModule);
  on_module("resume", &AdminCommands::ResumeModule);
  return routes;
}

}  // namespace cardcage
