#include "ctl/drivers.h"

#include <algorithm>
#include <set>

#include "host/core/nearest.h"
#include "host/kubelet/clients.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kInfoTimeout{2};  // the kubelet waits one second for GetInfo

// The sockets in the registration folder, newest first: the kubelet prefers the newest instance.
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

std::optional<RegisteredDriver> ask_info(const fs::path& socket) {
  const DriverClients clients(socket);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kInfoTimeout);
  api::registration::PluginInfo info;
  if (!clients.registration->GetInfo(&context, {}, &info).ok() || info.type() != "DRAPlugin") return std::nullopt;
  return RegisteredDriver{.name = info.name(),
                          .service = info.endpoint().empty() ? socket : fs::path(info.endpoint()),
                          .versions = {info.supported_versions().begin(), info.supported_versions().end()}};
}

}  // namespace

void DriverSearch::add_options(CLI::App& command) {
  command.add_option("--kubelet-root", kubelet_root, "the kubelet's --root-dir, where drivers register")
      ->envname("CARDCAGE_KUBELET_ROOT")
      ->capture_default_str();
  command.add_option("--driver-socket", service, "the driver's DRA socket; skips the search")->type_name("SOCKET");
}

std::vector<RegisteredDriver> DriverSearch::all() const {
  std::vector<RegisteredDriver> drivers;
  for (const fs::path& socket : registration_sockets(kubelet_root))
    if (auto driver = ask_info(socket)) drivers.push_back(std::move(*driver));
  return drivers;
}

Result<RegisteredDriver> DriverSearch::find(const std::string& driver) const {
  if (!service.empty()) return RegisteredDriver{driver, service, {}};
  std::vector<std::string> names;
  for (RegisteredDriver& found : all()) {
    if (found.name == driver) return std::move(found);
    names.push_back(found.name);
  }
  return fail(Code::kUnavailable, "driver '{}' has no socket below {}/plugins_registry{}; is cardcage running?", driver,
              kubelet_root.native(), nearest_hint(driver, names));
}

Result<RegisteredDriver> DriverSearch::only() const {
  if (!service.empty()) return RegisteredDriver{service.native(), service, {}};
  auto found = all();
  std::set<std::string> names;
  for (const auto& driver : found) names.insert(driver.name);
  if (names.empty())
    return fail(Code::kUnavailable, "no DRA driver has a socket below {}/plugins_registry; is cardcage running?",
                kubelet_root.native());
  if (names.size() > 1)
    return fail(Code::kInvalidArgument, "there are {} drivers; name one with --driver: {}", names.size(),
                fmt::join(names, ", "));
  return std::move(found.front());
}

}  // namespace cardcage
