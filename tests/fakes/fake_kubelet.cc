#include "tests/fakes/fake_kubelet.h"

#include <fmt/ranges.h>
#include <poll.h>
#include <sys/inotify.h>

#include <algorithm>
#include <array>

#include "host/core/unique_fd.h"
#include "host/rpc/status.h"
#include "tests/fakes/eventually.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds, std::chrono::seconds;

constexpr seconds kDialLimit{10}, kGetInfoLimit{1}, kNotifyLimit{5}, kDefaultAge{30};
constexpr milliseconds kMaxBackoff{122'000};

void set_limit(grpc::ClientContext& context, milliseconds limit) {
  context.set_deadline(std::chrono::system_clock::now() + limit);
}

}  // namespace

struct FakeKubelet::Plugin {
  std::string driver, version, endpoint;
  FakeDeviceManager* devices = nullptr;  // set for a device plugin
  std::unique_ptr<const DriverClients> clients;
  struct Report {
    ShownHealth shown;
    seconds timeout{0};
    Instant received;
  };
  std::map<std::pair<std::string, std::string>, Report> health;  // guarded by the kubelet's mutex
  std::size_t health_messages = 0;
  std::jthread health_watcher;
};

FakeKubelet::FakeKubelet(FakeKubeletOptions options) : options_(std::move(options)) {
  fs::create_directories(options_.root / "plugins_registry");
  fs::create_directories(options_.root / "plugins");
  start();
}

FakeKubelet::~FakeKubelet() { stop(); }

void FakeKubelet::restart() {
  stop();
  start();
}

// Sockets that appear after this arrive only as events: one found twice would be registered twice.
void FakeKubelet::start() {
  UniqueFd inotify(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  const fs::path registry = options_.root / "plugins_registry";
  ::inotify_add_watch(inotify.get(), registry.c_str(), IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM);
  for (const auto& entry : fs::directory_iterator(registry)) add_desired(entry.path());
  watcher_ = std::jthread(
      [this, inotify = std::move(inotify)](std::stop_token stop) { watch(std::move(stop), inotify.get()); });
}

void FakeKubelet::stop() {
  watcher_ = {};
  for (auto& [path, socket] : sockets_) unregister(socket);
  sockets_.clear();
}

void FakeKubelet::refuse(std::string error) {
  const std::lock_guard lock(mutex_);
  refusal_ = std::move(error);
}

void FakeKubelet::delay_connections(milliseconds delay) {
  const std::lock_guard lock(mutex_);
  connection_delay_ = delay;
}

std::vector<std::string> FakeKubelet::history() const {
  const std::lock_guard lock(mutex_);
  return history_;
}

bool FakeKubelet::registered(const std::string& driver) const { return plugin_of(driver) != nullptr; }

bool FakeKubelet::wait_for(const std::function<bool()>& condition, milliseconds limit) {
  // The condition may depend on events that this kubelet does not see: check again every few milliseconds.
  return eventually(condition, limit, [this] {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, milliseconds(5));
  });
}

void FakeKubelet::watch(std::stop_token stop, int inotify) {
  while (!stop.stop_requested()) {
    reconcile();
    pollfd waiting{inotify, POLLIN, 0};
    ::poll(&waiting, 1, static_cast<int>(options_.reconcile.count()));
    read_events(inotify);
  }
}

void FakeKubelet::read_events(int inotify) {
  alignas(inotify_event) std::array<char, 16 * 1024> buffer;
  const ssize_t size = ::read(inotify, buffer.data(), buffer.size());
  for (ssize_t at = 0; at < size;) {
    const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
    at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    if (event->len == 0) continue;
    const fs::path path = options_.root / "plugins_registry" / event->name;
    if ((event->mask & (IN_CREATE | IN_MOVED_TO)) != 0)
      add_desired(path);
    else if (const auto known = sockets_.find(path); known != sockets_.end())
      known->second.identity = 0;
  }
}

// The kubelet ignores hidden files and files that are not sockets.
void FakeKubelet::add_desired(const fs::path& path) {
  std::error_code ignored;
  if (path.filename().native().starts_with('.') || !fs::is_socket(path, ignored)) return;
  sockets_[path].identity = next_identity_++;
}

void FakeKubelet::reconcile() {
  for (auto& [path, socket] : sockets_)
    if (socket.plugin && socket.registered != socket.identity) unregister(socket);
  std::erase_if(sockets_, [](const auto& entry) { return entry.second.identity == 0; });
  for (auto& [path, socket] : sockets_) {
    const Instant now = std::chrono::steady_clock::now();
    if (socket.plugin || now < socket.next_try) continue;
    if (register_plugin(path, socket)) {
      socket.backoff = {};
      continue;
    }
    socket.backoff = socket.backoff.count() == 0 ? options_.first_backoff : std::min(socket.backoff * 2, kMaxBackoff);
    socket.next_try = now + socket.backoff;
  }
}

Status FakeKubelet::register_plugin(const fs::path& path, Socket& socket) {
  const DriverClients registration{path};
  if (!registration.channel->WaitForConnected(std::chrono::system_clock::now() + kDialLimit))
    return fail(Code::kUnavailable, "cannot dial {}", path.native());
  api::registration::PluginInfo info;
  grpc::ClientContext info_context;
  set_limit(info_context, kGetInfoLimit);
  if (const auto status = registration.registration->GetInfo(&info_context, {}, &info); !status.ok())
    return to_status(status);

  auto plugin = validate(info, path);
  api::registration::RegistrationStatus verdict;
  verdict.set_plugin_registered(plugin.has_value());
  if (!plugin) verdict.set_error(plugin.error().message);
  if (plugin) {  // before Notify, as in the original: a driver may get calls before it learns that it is registered
    const std::lock_guard lock(mutex_);
    plugins_.push_back(*plugin);
    socket.plugin = *plugin;
    socket.registered = socket.identity;
  }
  api::registration::RegistrationStatusResponse response;
  grpc::ClientContext notify_context;
  set_limit(notify_context, kNotifyLimit);
  const auto status = registration.registration->NotifyRegistrationStatus(&notify_context, verdict, &response);
  if (!plugin) {
    note("refused " + info.name());
    return std::unexpected(plugin.error());
  }
  if (!status.ok()) {
    unregister(socket);
    return to_status(status);
  }
  note(info.name() + " " + (*plugin)->version);
  if (options_.watch_health && !(*plugin)->devices)
    (*plugin)->health_watcher =
        std::jthread([this, plugin = *plugin](std::stop_token stop) { watch_health(stop, plugin); });
  return {};
}

Result<std::shared_ptr<FakeKubelet::Plugin>> FakeKubelet::validate(const api::registration::PluginInfo& info,
                                                                   const fs::path& path) const {
  if (info.type() == "DevicePlugin" && options_.devices) return connect_device_plugin(info, path);
  if (info.type() != "DRAPlugin")
    return fail(Code::kInvalidArgument, "no handler registered for plugin type: {} at socket {}", info.type(),
                path.native());
  const fs::path endpoint = info.endpoint();
  if (!endpoint.is_absolute() || endpoint.native().size() > 107 ||
      !endpoint.lexically_normal().native().starts_with(options_.root.native() + "/"))
    return fail(Code::kInvalidArgument, "invalid endpoint '{}'", endpoint.native());
  const auto& offered = info.supported_versions();
  const auto version = std::ranges::find_if(offered, [&](const std::string& name) {
    return std::ranges::find(options_.versions, name) != options_.versions.end();
  });
  if (version == offered.end())
    return fail(Code::kInvalidArgument, "none of the DRA gRPC service versions [{}] is supported ([{}])",
                fmt::join(offered, " "), fmt::join(options_.versions, " "));
  const std::lock_guard lock(mutex_);
  if (!refusal_.empty()) return fail(Code::kFailedPrecondition, "{}", refusal_);
  for (const auto& other : plugins_)
    if (other->driver == info.name() && other->endpoint == info.endpoint())
      return fail(Code::kAlreadyExists, "endpoint {} already registered for DRA driver plugin {}", info.endpoint(),
                  info.name());
  auto plugin = std::make_shared<Plugin>();
  plugin->driver = info.name();
  plugin->version = *version;
  plugin->endpoint = info.endpoint();
  plugin->clients = std::make_unique<const DriverClients>(endpoint);
  // Connects at once, as the original does.
  if (connection_delay_ == milliseconds::zero()) plugin->clients->channel->GetState(true);
  return plugin;
}

Result<std::shared_ptr<FakeKubelet::Plugin>> FakeKubelet::connect_device_plugin(
    const api::registration::PluginInfo& info, const fs::path& path) const {
  const fs::path endpoint = info.endpoint().empty() ? path : fs::path(info.endpoint());
  const auto& offered = info.supported_versions();
  {
    const std::lock_guard lock(mutex_);
    if (!refusal_.empty()) return fail(Code::kFailedPrecondition, "{}", refusal_);
  }
  auto accepted = options_.devices->validate(info.name(), {offered.begin(), offered.end()});
  if (accepted) accepted = options_.devices->plugin_connected(info.name(), endpoint);
  if (!accepted) return std::unexpected(accepted.error());
  auto plugin = std::make_shared<Plugin>();
  plugin->driver = info.name();
  plugin->version = "v1beta1";
  plugin->endpoint = endpoint;
  plugin->devices = options_.devices;
  plugin->clients = std::make_unique<const DriverClients>(endpoint);
  return plugin;
}

void FakeKubelet::unregister(Socket& socket) {
  const auto plugin = std::exchange(socket.plugin, nullptr);
  socket.registered = 0;
  if (!plugin) return;
  plugin->health_watcher = {};
  if (plugin->devices) plugin->devices->plugin_disconnected(plugin->driver, plugin->endpoint);
  {
    const std::lock_guard lock(mutex_);
    std::erase(plugins_, plugin);
  }
  note("-" + plugin->driver);
}

void FakeKubelet::watch_health(std::stop_token stop, std::shared_ptr<Plugin> plugin) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, connection_delay_, [] { return false; });
  }
  while (!stop.stop_requested()) {
    grpc::ClientContext context;
    const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
    const auto stream = plugin->clients->health_v1alpha1->NodeWatchResources(&context, {});
    api::health_v1alpha1::NodeWatchResourcesResponse message;
    while (stream->Read(&message)) {
      const std::lock_guard lock(mutex_);
      ++plugin->health_messages;
      for (const auto& device : message.devices()) {
        const seconds timeout(device.health_check_timeout_seconds() > 0 ? device.health_check_timeout_seconds()
                                                                        : kDefaultAge.count());
        plugin->health[{device.device().pool_name(), device.device().device_name()}] = {
            {static_cast<HealthState>(device.health()), device.message()},
            timeout,
            std::chrono::steady_clock::now() + age_};
      }
      changed_.notify_all();
    }
    const auto status = stream->Finish();
    std::unique_lock lock(mutex_);
    plugin->health.clear();
    changed_.notify_all();
    if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) return;
    changed_.wait_for(lock, stop, options_.health_reopen, [] { return false; });
  }
}

// The plugin that registered last among the connected ones, or else the last of all.
std::shared_ptr<FakeKubelet::Plugin> FakeKubelet::plugin_of(const std::string& driver) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Plugin> last;
  for (const auto& plugin : plugins_) {
    if (plugin->driver != driver) continue;
    const bool connected = plugin->clients->channel->GetState(false) == GRPC_CHANNEL_READY;
    if (!last || connected || last->clients->channel->GetState(false) != GRPC_CHANNEL_READY) last = plugin;
  }
  return last;
}

Result<FakeKubelet::Prepared> FakeKubelet::prepare(const std::string& driver, const std::vector<ClaimRef>& claims,
                                                   milliseconds limit) {
  const auto plugin = plugin_of(driver);
  if (!plugin) return fail(Code::kNotFound, "DRA driver {} is not registered", driver);
  return call_prepare(*plugin->clients, plugin->version, claims, limit);
}

Result<FakeKubelet::Unprepared> FakeKubelet::unprepare(const std::string& driver, const std::vector<ClaimRef>& claims,
                                                       milliseconds limit) {
  const auto plugin = plugin_of(driver);
  if (!plugin) return fail(Code::kNotFound, "DRA driver {} is not registered", driver);
  return call_unprepare(*plugin->clients, plugin->version, claims, limit);
}

FakeKubelet::ShownHealth FakeKubelet::health(const std::string& driver, const std::string& pool,
                                             const std::string& device) const {
  const auto plugin = plugin_of(driver);
  const std::lock_guard lock(mutex_);
  if (!plugin) return {};
  const auto report = plugin->health.find({pool, device});
  if (report == plugin->health.end()) return {};
  const bool old = std::chrono::steady_clock::now() + age_ - report->second.received > report->second.timeout;
  return old ? ShownHealth{} : report->second.shown;
}

std::size_t FakeKubelet::health_messages(const std::string& driver) const {
  const auto plugin = plugin_of(driver);
  const std::lock_guard lock(mutex_);
  return plugin ? plugin->health_messages : 0;
}

void FakeKubelet::advance(Duration age) {
  const std::lock_guard lock(mutex_);
  age_ += age;
}

void FakeKubelet::note(std::string event) {
  const std::lock_guard lock(mutex_);
  history_.push_back(std::move(event));
  changed_.notify_all();
}

}  // namespace cardcage
