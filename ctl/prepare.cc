// cagectl prepare FILE and cagectl unprepare FILE: make a kubelet's calls for the start and end of a pod.
#include <chrono>
#include <map>

#include "ctl/cdi_edits.h"
#include "ctl/claim_file.h"
#include "ctl/drivers.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "host/kubelet/clients.h"
#include "host/rpc/status.h"

namespace cardcage {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;
namespace dra = api::dra_v1;

constexpr std::chrono::seconds kKubeletTimeout{45};
constexpr const char* kNoResponse = "the driver's response does not mention this claim";

struct ClaimCommand {
  DriverSearch search;
  fs::path file;
  std::string driver;
  std::vector<fs::path> cdi_folders = {"/etc/cdi", "/var/run/cdi"};
};

// The response of one driver for one claim.
struct Outcome {
  std::string driver;
  ClaimRef ref;
  std::string error;
  std::vector<dra::Device> devices = {};
  Result<json::object> edits = {};
};

std::string full_name(const ClaimRef& ref) { return fmt::format("{}/{}", ref.name_space, ref.name); }

// Groups the claims by driver, in the order of the file.
Result<std::vector<std::pair<std::string, std::vector<ClaimRef>>>> group_by_driver(const ClaimCommand& command) {
  const auto claims = read_claims(command.file);
  if (!claims) return std::unexpected(claims.error());
  std::vector<std::pair<std::string, std::vector<ClaimRef>>> groups;
  for (const FileClaim& claim : *claims) {
    const auto drivers = command.driver.empty() ? claim.drivers : std::vector{command.driver};
    if (drivers.empty())
      return fail(Code::kFailedPrecondition, "claim {} is not allocated; name the driver with --driver",
                  full_name(claim.ref));
    for (const std::string& driver : drivers) {
      auto entry = std::ranges::find(groups, driver, &std::pair<std::string, std::vector<ClaimRef>>::first);
      if (entry == groups.end()) entry = groups.insert(entry, {driver, {}});
      entry->second.push_back(claim.ref);
    }
  }
  return groups;
}

template <class Request, class Response>
Result<Response> call(const RegisteredDriver& driver, const std::vector<ClaimRef>& refs,
                      grpc::Status (dra::DRAPlugin::Stub::*method)(grpc::ClientContext*, const Request&, Response*)) {
  Request request;
  for (const ClaimRef& ref : refs) {
    auto* claim = request.add_claims();
    claim->set_namespace_(ref.name_space);
    claim->set_name(ref.name);
    claim->set_uid(ref.uid);
  }
  const DriverClients clients(driver.service);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kKubeletTimeout);
  Response response;
  const Status called = to_status((clients.dra_v1.get()->*method)(&context, request, &response));
  if (!called) return within(called.error(), "driver '{}' at {}", driver.name, driver.service.native());
  return response;
}

std::vector<std::string> cdi_ids(const std::vector<dra::Device>& devices) {
  std::vector<std::string> ids;
  for (const auto& device : devices)
    ids.insert(ids.end(), device.cdi_device_ids().begin(), device.cdi_device_ids().end());
  return ids;
}

Result<std::vector<Outcome>> prepare(const ClaimCommand& command, const RegisteredDriver& driver,
                                     const std::vector<ClaimRef>& refs) {
  const auto response = call(driver, refs, &dra::DRAPlugin::Stub::NodePrepareResources);
  if (!response) return std::unexpected(response.error());
  std::vector<Outcome> outcomes;
  for (const ClaimRef& ref : refs) {
    const auto entry = response->claims().find(ref.uid);
    Outcome outcome{.driver = driver.name, .ref = ref, .error = kNoResponse};
    if (entry != response->claims().end()) {
      outcome.error = entry->second.error();
      outcome.devices = {entry->second.devices().begin(), entry->second.devices().end()};
    }
    outcome.edits = merged_edits(command.cdi_folders, cdi_ids(outcome.devices));
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

Result<std::vector<Outcome>> unprepare(const ClaimCommand&, const RegisteredDriver& driver,
                                       const std::vector<ClaimRef>& refs) {
  const auto response = call(driver, refs, &dra::DRAPlugin::Stub::NodeUnprepareResources);
  if (!response) return std::unexpected(response.error());
  std::vector<Outcome> outcomes;
  for (const ClaimRef& ref : refs) {
    const auto entry = response->claims().find(ref.uid);
    outcomes.push_back({.driver = driver.name,
                        .ref = ref,
                        .error = entry == response->claims().end() ? kNoResponse : entry->second.error()});
  }
  return outcomes;
}

json::value outcome_json(const Outcome& outcome) {
  json::array devices;
  for (const auto& device : outcome.devices)
    devices.push_back({{"requests", strings_json(device.request_names())},
                       {"pool", device.pool_name()},
                       {"device", device.device_name()},
                       {"cdiDeviceIDs", strings_json(device.cdi_device_ids())},
                       {"shareID", device.has_share_id() ? json::value(device.share_id()) : json::value()}});
  json::object object{
      {"claim", {{"namespace", outcome.ref.name_space}, {"name", outcome.ref.name}, {"uid", outcome.ref.uid}}},
      {"driver", outcome.driver},
      {"error", outcome.error.empty() ? json::value() : json::value(outcome.error)}};
  if (devices.empty()) return object;
  object["devices"] = std::move(devices);
  object["edits"] = outcome.edits ? json::value(*outcome.edits) : json::value();
  return object;
}

void print_outcome(const Outcome& outcome, std::string_view done) {
  fmt::print("claim {} ({}): {}\n", printable(full_name(outcome.ref)), printable(outcome.ref.uid),
             outcome.error.empty() ? fmt::format("{} by {}", done, printable(outcome.driver))
                                   : fmt::format("{}: {}", printable(outcome.driver), printable(outcome.error)));
  if (outcome.devices.empty()) return;
  Table table({"DEVICE", "POOL", "REQUESTS", "CDI IDS"});
  for (const auto& device : outcome.devices)
    table.row({device.device_name(), device.pool_name(), fmt::format("{}", fmt::join(device.request_names(), ", ")),
               fmt::format("{}", fmt::join(device.cdi_device_ids(), ", "))});
  table.print(2);
  if (outcome.edits)
    print_edits(*outcome.edits, 2);
  else
    fmt::print("  edits unknown: {}\n", printable(outcome.edits.error().message));
}

using Work = Result<std::vector<Outcome>> (*)(const ClaimCommand&, const RegisteredDriver&,
                                              const std::vector<ClaimRef>&);

// Makes one RPC per driver, as a kubelet does for the claims of a pod.
Status call_drivers(const Session& session, const ClaimCommand& command, Work work, std::string_view done) {
  const auto groups = group_by_driver(command);
  if (!groups) return std::unexpected(groups.error());
  std::size_t failed = 0, total = 0;
  json::array array;
  for (const auto& [name, refs] : *groups) {
    const auto driver = command.search.find(name);
    if (!driver) return std::unexpected(driver.error());
    const auto outcomes = work(command, *driver, refs);
    if (!outcomes) return std::unexpected(outcomes.error());
    for (const Outcome& outcome : *outcomes) {
      ++total;
      if (!outcome.error.empty()) ++failed;
      if (session.json)
        array.push_back(outcome_json(outcome));
      else
        print_outcome(outcome, done);
    }
  }
  if (session.json) print_json(array);
  if (failed > 0) return fail(Code::kUnknown, "{} of {} not {}", failed, count(total, "claim"), done);
  return {};
}

void add(CLI::App& app, Session& session, const std::string& name, const std::string& help, Work work,
         std::string_view done) {
  auto* subcommand = app.add_subcommand(name, help);
  auto command = std::make_shared<ClaimCommand>();
  subcommand->add_option("FILE", command->file, "a ResourceClaim or a list of them, as JSON; - reads stdin")
      ->required();
  subcommand->add_option("--driver", command->driver, "call this driver instead of those in the allocation")
      ->type_name("DRIVER");
  command->search.add_options(*subcommand);
  if (work == prepare)
    subcommand->add_option("--cdi-dir", command->cdi_folders, "folders with CDI files; the last one wins")
        ->capture_default_str();
  subcommand->callback(
      [&session, command, work, done] { session.outcome = call_drivers(session, *command, work, done); });
}

}  // namespace

void add_prepare(CLI::App& app, Session& session) {
  add(app, session, "prepare", "play the kubelet: prepare the claims in a file and show what containers get", prepare,
      "prepared");
}

void add_unprepare(CLI::App& app, Session& session) {
  add(app, session, "unprepare", "play the kubelet: unprepare the claims in a file", unprepare, "unprepared");
}

}  // namespace cardcage
