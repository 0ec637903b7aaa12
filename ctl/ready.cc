// cagectl ready: checks that the kubelet can use the devices of this node. For the readiness probe of the DaemonSet.
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>

#include "ctl/admin.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "host/kubelet/clients.h"
#include "host/rpc/status.h"

namespace cardcage {
namespace {

constexpr std::chrono::seconds kAnswerLimit{2};

// Makes a call without effects on the socket that the kubelet calls.
template <class Call>
Status probe(const std::string& subject, const std::string& socket, Call call) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kAnswerLimit);
  if (auto answered = to_status(call(context)); !answered)
    return fail(Code::kFailedPrecondition, "{} does not respond on {}: {}", subject, socket, answered.error().message);
  return {};
}

Status check_answer(const std::string& subject, const admin::v1::Driver& driver) {
  const DriverClients clients(driver.socket());
  return probe(subject, driver.socket(), [&](grpc::ClientContext& context) {
    api::dra_v1::NodePrepareResourcesResponse response;
    return clients.dra_v1->NodePrepareResources(&context, {}, &response);
  });
}

Status check_answer(const std::string& subject, const admin::v1::Resource& resource) {
  const auto channel = grpc::CreateChannel("unix:" + resource.socket(), grpc::InsecureChannelCredentials());
  const auto stub = api::device_plugin::DevicePlugin::NewStub(channel);
  return probe(subject, resource.socket(), [&](grpc::ClientContext& context) {
    api::device_plugin::DevicePluginOptions options;
    return stub->GetDevicePluginOptions(&context, {}, &options);
  });
}

// A name without a socket has nothing to serve, such as a driver on a node without its hardware.
template <class Served>
Result<std::size_t> check_all(std::string_view kind, const Served& served) {
  std::size_t checked = 0;
  for (const auto& one : served) {
    if (one.socket().empty()) continue;
    const std::string subject = fmt::format("{} '{}'", kind, one.name());
    if (one.registration().level() != "good")
      return fail(Code::kFailedPrecondition, "{} is not registered with the kubelet: {}", subject,
                  to_text(one.registration()));
    if (auto usable = check_answer(subject, one); !usable) return std::unexpected(usable.error());
    ++checked;
  }
  return checked;
}

Status check_modules(const admin::v1::ListModulesResponse& list) {
  for (const auto& module : list.modules())
    if (module.state().state() == "starting")
      return fail(Code::kFailedPrecondition, "module '{}' is starting", module.name());
  return {};
}

Status check_ready(const Session& session) {
  auto connection = AdminConnection::open(session.socket);
  if (!connection) return std::unexpected(connection.error());
  const auto modules = connection->call(&admin::v1::Admin::Stub::ListModules, admin::v1::ListModulesRequest());
  if (!modules) return std::unexpected(modules.error());
  if (auto started = check_modules(*modules); !started) return started;
  const auto status = connection->call(&admin::v1::Admin::Stub::GetStatus, admin::v1::GetStatusRequest());
  if (!status) return std::unexpected(status.error());
  const auto drivers = check_all("driver", status->drivers());
  if (!drivers) return std::unexpected(drivers.error());
  const auto resources = check_all("resource", status->resources());
  if (!resources) return std::unexpected(resources.error());
  if (session.json)
    print_json({{"ready", true}, {"drivers", *drivers}, {"resources", *resources}});
  else
    fmt::print("ready: {} and {} respond\n", count(*drivers, "driver"), count(*resources, "resource"));
  return {};
}

}  // namespace

void add_ready(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("ready", "check that the kubelet can use what this node serves");
  command->callback([&session] { session.outcome = check_ready(session); });
}

}  // namespace cardcage
