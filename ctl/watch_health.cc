// cagectl watch-health: follows the health stream that a kubelet reads.
#include <boost/json/serialize.hpp>
#include <map>

#include "ctl/drivers.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "host/kubelet/clients.h"
#include "host/rpc/status.h"

namespace cardcage {
namespace {

namespace json = boost::json;

struct WatchCommand {
  DriverSearch search;
  std::string driver;
  std::uint32_t messages = 0;  // 0 = until the stream ends
};

// One device in a message; v1 and v1alpha1 have the same fields.
struct ReportedHealth {
  std::string state, message;
  google::protobuf::Timestamp updated;
  std::int64_t timeout = 0;
  friend bool operator==(const ReportedHealth& a, const ReportedHealth& b) {
    return a.state == b.state && a.message == b.message;
  }
};
using Reports = std::map<std::string, ReportedHealth>;  // by "pool/device"

std::string word(int state) {
  switch (state) {
    case api::health_v1::HEALTHY: return "healthy";
    case api::health_v1::UNHEALTHY: return "unhealthy";
    default: return "unknown";
  }
}

template <class Response>
Reports reports_of(const Response& response) {
  Reports reports;
  for (const auto& device : response.devices()) {
    ReportedHealth report{word(device.health()), device.message(), {}, device.health_check_timeout_seconds()};
    report.updated.set_seconds(device.last_updated_time());
    reports[fmt::format("{}/{}", device.device().pool_name(), device.device().device_name())] = std::move(report);
  }
  return reports;
}

void print_changes(const Reports& before, const Reports& now) {
  for (const auto& [name, report] : now) {
    const auto old = before.find(name);
    if (old != before.end() && old->second == report) continue;
    const std::string state =
        old == before.end() ? report.state : fmt::format("{} -> {}", old->second.state, report.state);
    fmt::print("{}  {}  {}{}\n", to_rfc3339(report.updated), printable(name), state,
               report.message.empty() ? "" : ": " + printable(report.message));
  }
  for (const auto& [name, report] : before)
    if (!now.contains(name)) fmt::print("{}  {}  gone\n", to_rfc3339(report.updated), printable(name));
  std::fflush(stdout);
}

// Prints one line per message, for programs that follow the output.
void print_message(const Reports& reports) {
  json::array devices;
  for (const auto& [name, report] : reports)
    devices.push_back({{"pool", name.substr(0, name.rfind('/'))},
                       {"device", name.substr(name.rfind('/') + 1)},
                       {"health", report.state},
                       {"message", report.message},
                       {"updated", text_json(to_rfc3339(report.updated))},
                       {"timeoutSeconds", report.timeout}});
  fmt::print("{}\n", json::serialize(json::value{{"devices", std::move(devices)}}));
  std::fflush(stdout);
}

template <class Request, class Response, class Stub>
grpc::Status follow(Stub& stub, const WatchCommand& command, bool as_json) {
  grpc::ClientContext context;
  const auto reader = stub.NodeWatchResources(&context, Request());
  Reports before;
  Response response;
  for (std::uint32_t read = 0; reader->Read(&response);) {
    Reports now = reports_of(response);
    if (as_json)
      print_message(now);
    else
      print_changes(before, now);
    before = std::move(now);
    if (++read == command.messages) {
      context.TryCancel();
      reader->Finish();
      return grpc::Status::OK;
    }
  }
  const grpc::Status status = reader->Finish();
  return status.ok() ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the driver ended the stream") : status;
}

Status watch_health(const Session& session, const WatchCommand& command) {
  const auto driver = command.driver.empty() ? command.search.only() : command.search.find(command.driver);
  if (!driver) return std::unexpected(driver.error());
  const DriverClients clients(driver->service);
  auto status = follow<api::health_v1::NodeWatchResourcesRequest, api::health_v1::NodeWatchResourcesResponse>(
      *clients.health_v1, command, session.json);
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED)
    status = follow<api::health_v1alpha1::NodeWatchResourcesRequest, api::health_v1alpha1::NodeWatchResourcesResponse>(
        *clients.health_v1alpha1, command, session.json);
  if (auto fine = to_status(status); !fine)
    return within(fine.error(), "driver '{}' at {}", driver->name, driver->service.native());
  return {};
}

}  // namespace

void add_watch_health(CLI::App& app, Session& session) {
  auto* subcommand = app.add_subcommand("watch-health", "play the kubelet: follow the health of a driver's devices");
  auto command = std::make_shared<WatchCommand>();
  subcommand->add_option("--driver", command->driver, "follow this driver; not needed if there is only one")
      ->type_name("DRIVER");
  subcommand->add_option("--messages", command->messages, "stop after this many messages; 0 = never")
      ->capture_default_str();
  command->search.add_options(*subcommand);
  subcommand->callback([&session, command] { session.outcome = watch_health(session, *command); });
}

}  // namespace cardcage
