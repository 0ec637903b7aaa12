#include "ctl/drivers.h"

#include <algorithm>
#include <set>

#include "host/core/nearest.h"
#include "host/kubelet/clients.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kInfoTimeout{2};  // the kubelet waits one second for GetInfo

// Returns the sockets in the registration folder, newest first: the kubelet prefers the newest instance.
std::vector<fs::path> registration_sockets(const fs::path& kubelet_root) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  std::error_code problem;
  for (fs::directory_iterator entry(kubelet_root / "plugins_registry", problem), end; !problem && entry != end;
       entry.increment(problem)) {
    std::error_code gone;
    if (entry->is_socket(gone) && !entry->path().filename().native().starts_with('.'))
      found.emplace_back(entry->last_write_time(gone), entry->path());
  }
  std::ranges::sort(found, std::greater<>());
  std::vector<fs::path> sockets;
  for (auto& [time, path] : found) sockets.push_back(std::move(path));
  return sockets;
}

grpc::Status ask_info(const fs::path& socket, api::registration::PluginInfo& info) {
  const DriverClients clients(socket);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kInfoTimeout);
  return clients.registration->GetInfo(&context, {}, &info);
}

RegisteredDriver driver_at(const fs::path& socket, const api::registration::PluginInfo& info) {
  return {.name = info.name(),
          .service = info.endpoint().empty() ? socket : fs::path(info.endpoint()),
          .versions = {info.supported_versions().begin(), info.supported_versions().end()}};
}

std::unexpected<Error> silent_error(std::string_view subject, const std::vector<std::string>& sockets) {
  return fail(Code::kUnavailable,
              "{}, but no process responded within {} s at {} in plugins_registry; look at the log of its daemon",
              subject, kInfoTimeout.count(), fmt::join(sockets, ", "));
}

}  // namespace

void DriverSearch::add_options(CLI::App& command) {
  command.add_option("--kubelet-root", kubelet_root, "the kubelet's --root-dir, where drivers register")
      ->envname("CARDCAGE_KUBELET_ROOT")
      ->capture_default_str();
  command.add_option("--driver-socket", service, "the driver's DRA socket; skips the search")->type_name("SOCKET");
}

DriverSearch::Found DriverSearch::search() const {
  Found found;
  for (const fs::path& socket : registration_sockets(kubelet_root)) {
    api::registration::PluginInfo info;
    const grpc::Status asked = ask_info(socket, info);
    if (asked.ok() && info.type() == "DRAPlugin") found.drivers.push_back(driver_at(socket, info));
    if (asked.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) found.silent.push_back(socket.filename());
  }
  return found;
}

Result<RegisteredDriver> DriverSearch::find(const std::string& driver) const {
  if (!service.empty()) return RegisteredDriver{driver, service, {}};
  std::vector<std::string> names;
  Found found = search();
  for (RegisteredDriver& candidate : found.drivers) {
    if (candidate.name == driver) return std::move(candidate);
    names.push_back(candidate.name);
  }
  if (!found.silent.empty()) return silent_error(fmt::format("driver '{}' was not found", driver), found.silent);
  return fail(Code::kUnavailable, "driver '{}' has no socket below {}/plugins_registry{}; is cardcage running?", driver,
              kubelet_root.native(), nearest_hint(driver, names));
}

Result<RegisteredDriver> DriverSearch::only() const {
  if (!service.empty()) return RegisteredDriver{service.native(), service, {}};
  Found found = search();
  std::set<std::string> names;
  for (const auto& driver : found.drivers) names.insert(driver.name);
  if (names.empty() && !found.silent.empty()) return silent_error("no DRA driver was found", found.silent);
  if (names.empty())
    return fail(Code::kUnavailable, "no DRA driver has a socket below {}/plugins_registry; is cardcage running?",
                kubelet_root.native());
  if (names.size() > 1)
    return fail(Code::kInvalidArgument, "there are {} drivers; name one with --driver: {}", names.size(),
                fmt::join(names, ", "));
  return std::move(found.drivers.front());
}

}  // namespace cardcage
