#include "ctl/web/node_api.h"

#include <boost/json/object.hpp>

#include "ctl/health_lookup.h"
#include "ctl/print.h"
#include "ctl/since.h"
#include "host/core/number.h"
#include "host/core/version.h"

namespace cardcage {
namespace {

namespace wire = admin::v1;
using AdminCalls = wire::Admin::StubInterface::async_interface;

constexpr std::uint32_t kDefaultRows = 100, kMostRows = 10'000;  // as --limit

unsigned status_of(Code code) {
  switch (code) {
    case Code::kInvalidArgument: return 400;
    case Code::kPermissionDenied: return 403;
    case Code::kNotFound: return 404;
    case Code::kAlreadyExists:
    case Code::kFailedPrecondition:
    case Code::kAborted: return 409;
    case Code::kUnimplemented: return 501;
    case Code::kUnavailable:
    case Code::kCancelled: return 503;
    case Code::kDeadlineExceeded: return 504;
    default: return 500;
  }
}

// Makes the response of one call with `make(message)`, which returns JSON.
template <class Request, class Response, class Make>
Task<WebResponse> respond_with(DaemonClient& client, DaemonClient::Method<Request, Response> method, Request request,
                               Make make) {
  Task<Result<Response>> asked = client.call(method, std::move(request));
  const Result<Response> response = co_await std::move(asked);
  if (!response) co_return failure_response(response.error());
  co_return json_response(make(*response));
}

// The handler of a report without parameters, whose JSON is a member of the message.
template <class Request, class Response>
WebRoute::Handler member_of(DaemonClient& client, DaemonClient::Method<Request, Response> method, const char* member) {
  return [&client, method, member](const WebRequest&) {
    return respond_with(client, method, Request(),
                        [member](const Response& response) { return to_json(response).at(member); });
  };
}

// Fails for a text that is not a number of rows.
Result<std::uint32_t> rows_of(const WebRequest& request) {
  const auto text = request.parameter("limit");
  if (!text) return kDefaultRows;
  const auto rows = number_from<std::uint32_t>(*text);
  if (!rows || *rows < 1 || *rows > kMostRows)
    return fail(Code::kInvalidArgument, "limit is '{}'; write a number from 1 to {}", *text, kMostRows);
  return *rows;
}

Task<WebResponse> history_response(DaemonClient& client, WebRequest asked) {
  wire::ListHistoryRequest request;
  request.set_claim(asked.parameter("claim").value_or(""));
  request.set_driver(asked.parameter("driver").value_or(""));
  request.set_device(asked.parameter("device").value_or(""));
  const auto earliest = since(asked.parameter("since").value_or(""));
  if (!earliest) co_return failure_response(earliest.error());
  request.set_since(*earliest);
  const auto rows = rows_of(asked);
  if (!rows) co_return failure_response(rows.error());
  request.set_limit(*rows);
  const auto entries = [](const wire::ListHistoryResponse& response) { return to_json(response).at("entries"); };
  Task<WebResponse> work = respond_with(client, &AdminCalls::ListHistory, std::move(request), entries);
  co_return co_await std::move(work);
}

// Without a device, the devices in trouble; with one, what is known about it and its history.
Task<WebResponse> health_response(DaemonClient& client, WebRequest asked) {
  const std::string name = asked.parameter("device").value_or(""), module = asked.parameter("module").value_or("");
  const auto earliest = since(asked.parameter("since").value_or(""));
  if (!earliest) co_return failure_response(earliest.error());
  const auto rows = rows_of(asked);
  if (!rows) co_return failure_response(rows.error());
  Task<Result<wire::ListDevicesResponse>> listing = client.call(&AdminCalls::ListDevices, wire::ListDevicesRequest());
  const auto list = co_await std::move(listing);
  if (!list) co_return failure_response(list.error());
  if (name.empty()) co_return json_response(to_json(devices_in_trouble(*list, module)).at("devices"));
  const auto device = find_device(*list, name, module);
  if (!device) co_return failure_response(device.error());
  wire::ListHealthEventsRequest request;
  request.set_module(*device ? (*device)->module() : module);
  request.set_device(*device ? (*device)->id() : name);
  request.set_since(*earliest);
  request.set_limit(*rows);
  Task<Result<wire::ListHealthEventsResponse>> asking = client.call(&AdminCalls::ListHealthEvents, std::move(request));
  const auto history = co_await std::move(asking);
  if (!history) co_return failure_response(history.error());
  if (!*device && history->events().empty()) co_return failure_response(unknown_device(*list, name).error());
  co_return json_response(device_health_json(*device, name, *history));
}

// The node is empty while the daemon does not respond.
Task<WebResponse> session_response(DaemonClient& client, Visitor visitor) {
  Task<Result<wire::GetStatusResponse>> asked = client.call(&AdminCalls::GetStatus, wire::GetStatusRequest());
  const auto status = co_await std::move(asked);
  const boost::json::object session{
      {"node", status ? status->node() : ""}, {"version", version()}, {"actions", visitor.may_command}};
  co_return json_response(session);
}

Task<WebResponse> watch_response(ChangeHub& hub) {
  const auto reader = std::make_shared<std::unique_ptr<ChangeHub::Reader>>();
  Task<std::unique_ptr<ChangeHub::Reader>> opening = hub.open();
  *reader = co_await std::move(opening);
  WebResponse response;
  response.events = [reader](std::function<void()> ready) -> std::unique_ptr<EventSource> {
    (*reader)->notify(std::move(ready));
    return std::move(*reader);
  };
  co_return response;
}

}  // namespace

WebResponse failure_response(const Error& error) { return error_response(status_of(error.code), error.message); }

WebResponse json_response(const boost::json::value& value) {
  WebResponse response;
  response.body = json_text(value);
  return response;
}

std::vector<WebRoute> node_routes(DaemonClient& client, ChangeHub& hub) {
  const auto get = [](const char* name, WebRoute::Handler handler) {
    return WebRoute{"GET", fmt::format("/api/v1/{}", name), std::move(handler)};
  };
  const auto status = [&client](const WebRequest&) {
    return respond_with(client, &AdminCalls::GetStatus, wire::GetStatusRequest(),
                        [](const wire::GetStatusResponse& response) { return to_json(response); });
  };
  return {
      get("session", [&client](const WebRequest& request) { return session_response(client, request.visitor); }),
      get("status", status),
      get("modules", member_of(client, &AdminCalls::ListModules, "modules")),
      get("devices", member_of(client, &AdminCalls::ListDevices, "devices")),
      get("claims", member_of(client, &AdminCalls::ListClaims, "claims")),
      get("history", [&client](WebRequest request) { return history_response(client, std::move(request)); }),
      get("health-rules", member_of(client, &AdminCalls::ListHealthRules, "modules")),
      get("health-events", [&client](WebRequest request) { return health_response(client, std::move(request)); }),
      get("catalogue", member_of(client, &AdminCalls::ListCatalogue, "modules")),
      get("watch", [&hub](const WebRequest&) { return watch_response(hub); }),
  };
}

}  // namespace cardcage
