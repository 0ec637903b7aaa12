#include "tests/fakes/fake_device_manager.h"

#include <fmt/ranges.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/server_builder.h>

#include <algorithm>

#include "host/core/clock.h"
#include "host/kubelet/clients.h"
#include "host/rpc/grpc_library.h"
#include "host/rpc/status.h"
#include "tests/fakes/eventually.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
namespace plugin = api::device_plugin;
using std::chrono::milliseconds, std::chrono::seconds;

// gRPC with Go's limit on received messages (4 MiB) and the authority that the kubelet sets for device plugins.
std::shared_ptr<grpc::Channel> dial(const fs::path& socket) {
  hold_grpc();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(api::kMaxAnswerBytes);
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel("unix:" + socket.native(), grpc::InsecureChannelCredentials(), arguments);
}

grpc::Status refuse(const std::string& text) { return {grpc::StatusCode::UNKNOWN, text}; }

bool is_extended_resource(const std::string& name) {
  return name.find('/') != std::string::npos && name.find("kubernetes.io/") == std::string::npos &&
         !name.starts_with("requests.") && name.size() - name.find('/') <= 64;
}

}  // namespace

class FakeDeviceManager::Registration final : public plugin::Registration::Service {
 public:
  explicit Registration(FakeDeviceManager& manager) : manager_(manager) {}
  grpc::Status Register(grpc::ServerContext* context, const plugin::RegisterRequest* request, plugin::Empty*) override {
    return manager_.handle_register(*request, *context);
  }

 private:
  FakeDeviceManager& manager_;
};

FakeDeviceManager::FakeDeviceManager(FakeDeviceManagerOptions options, bool up) : options_(std::move(options)) {
  if (up) start();
}

FakeDeviceManager::~FakeDeviceManager() { stop(); }

void FakeDeviceManager::start() {
  hold_grpc();
  fs::create_directories(options_.folder);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(options_.folder))
    if (entry.is_socket(ignored)) fs::remove(entry.path(), ignored);
  {
    const std::lock_guard lock(mutex_);
    stopping_ = false;
    for (auto& [resource, sets] : resources_) sets = {};  // the checkpoint names the resources, not their devices
  }
  registration_ = std::make_unique<Registration>(*this);
  grpc::ServerBuilder builder;
  builder.RegisterService(registration_.get());
  builder.AddListeningPort("unix:" + (options_.folder / "kubelet.sock").native(), grpc::InsecureServerCredentials());
  server_ = builder.BuildAndStart();
}

void FakeDeviceManager::stop() {
  if (!server_) return;
  std::vector<std::jthread> threads;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  // Keeps the socket's file: gRPC removes it, but a killed kubelet leaves it.
  const fs::path socket = options_.folder / "kubelet.sock", kept = options_.folder / ".kubelet.sock";
  std::error_code ignored;
  fs::rename(socket, kept, ignored);
  server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
  fs::rename(kept, socket, ignored);
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, client] : clients_) client->list.TryCancel();
    for (const auto& [key, client] : endpoints_) client->list.TryCancel();
    threads = std::move(threads_);
    threads_.clear();
  }
  threads.clear();  // joins
  const std::lock_guard lock(mutex_);
  clients_.clear();
  endpoints_.clear();
}

void FakeDeviceManager::behave(Conduct conduct) {
  const std::lock_guard lock(mutex_);
  conduct_ = std::move(conduct);
}

std::string FakeDeviceManager::key_of(const std::string& resource, const fs::path& socket) const {
  return options_.clients_by_name ? resource : socket.native();
}

grpc::Status FakeDeviceManager::handle_register(const plugin::RegisterRequest& request, grpc::ServerContext& context) {
  std::unique_lock lock(mutex_);
  ++attempts_;
  const Conduct conduct = conduct_;
  if (conduct.stall) {
    while (!context.IsCancelled() && !stopping_) changed_.wait_for(lock, milliseconds(5));
    return grpc::Status::CANCELLED;
  }
  lock.unlock();
  Status accepted = conduct.refusal.empty() ? validate(request.resource_name(), {request.version()})
                                            : fail(Code::kUnknown, "{}", conduct.refusal);
  if (accepted) accepted = plugin_connected(request.resource_name(), options_.folder / request.endpoint());
  if (accepted) return grpc::Status::OK;
  note("refused " + request.resource_name());
  return refuse(accepted.error().message);
}

Status FakeDeviceManager::validate(const std::string& resource, const std::vector<std::string>& versions) const {
  const bool spoken = std::ranges::any_of(versions, [&](const std::string& version) {
    return std::ranges::find(options_.versions, version) != options_.versions.end();
  });
  if (!spoken)
    return fail(Code::kUnknown, "requested API version {} is not supported by kubelet. Supported version is {}",
                versions, options_.versions);
  if (!is_extended_resource(resource)) return fail(Code::kUnknown, "the ResourceName \"{}\" is invalid", resource);
  return {};
}

// Fails when the kubelet stops.
bool FakeDeviceManager::connect(const Client& client) const {
  const auto limit = std::chrono::system_clock::now() + options_.dial_limit;
  while (std::chrono::system_clock::now() < limit) {
    if (client.channel->WaitForConnected(std::chrono::system_clock::now() + milliseconds(10))) return true;
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
  }
  return false;
}

Status FakeDeviceManager::plugin_connected(const std::string& resource, const fs::path& socket) {
  const auto client = std::make_shared<Client>();
  client->resource = resource;
  client->socket = socket;
  client->channel = dial(socket);
  client->stub = plugin::DevicePlugin::NewStub(client->channel);
  const std::string key = key_of(resource, socket);
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return fail(Code::kUnavailable, "the kubelet is stopping");
    clients_[key] = client;  // replaces an earlier one, whose connection stays open
  }
  Status called_back;
  if (connect(*client)) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + options_.dial_limit);
    called_back = to_status(client->stub->GetDevicePluginOptions(&context, {}, &client->options));
  } else {
    called_back = fail(Code::kUnknown, "failed to dial device plugin: context deadline exceeded");
  }
  const std::lock_guard lock(mutex_);
  if (!called_back) {
    clients_.erase(key);
    return called_back;
  }
  if (stopping_) return fail(Code::kUnavailable, "the kubelet is stopping");
  endpoints_[resource] = client;
  resources_[resource];
  ++registrations_[resource];
  history_.push_back(resource + " " + socket.filename().native());
  changed_.notify_all();
  if (!conduct_.deaf) threads_.emplace_back([this, client] { run_client(client); });
  return {};
}

void FakeDeviceManager::plugin_disconnected(const std::string& resource, const fs::path& socket) {
  const std::lock_guard lock(mutex_);
  disconnect(key_of(resource, socket));
}

void FakeDeviceManager::watch(std::shared_ptr<Client> client) {
  const auto stream = client->stub->ListAndWatch(&client->list, {});
  plugin::ListAndWatchResponse message;
  while (stream->Read(&message)) {
    const std::lock_guard lock(mutex_);
    Sets& sets = resources_[client->resource];
    sets = {};
    for (const auto& device : message.devices()) {
      sets.all[device.id()] = device;
      (device.health() == "Healthy" ? sets.healthy : sets.unhealthy).insert(device.id());
    }
    ++lists_[client->resource];
    history_.push_back(fmt::format("list {} {}", client->resource, message.devices_size()));
    write_checkpoint();
    changed_.notify_all();
    if (conduct_.hang_up) client->list.TryCancel();
  }
  stream->Finish();
}

void FakeDeviceManager::run_client(std::shared_ptr<Client> client) {
  watch(client);
  std::unique_lock lock(mutex_);
  history_.push_back("-" + client->resource);
  changed_.notify_all();
  if (options_.disconnect.count() > 0) changed_.wait_for(lock, options_.disconnect, [&] { return stopping_; });
  // Up to 1.36 this finds the client that has the name now, which may be a newer one.
  disconnect(key_of(client->resource, client->socket));
}

// Needs the lock.
void FakeDeviceManager::disconnect(const std::string& key) {
  const auto found = clients_.find(key);
  if (found == clients_.end()) return;
  const auto client = found->second;
  clients_.erase(found);
  client->list.TryCancel();
  client->stopped = true;
  changed_.notify_all();
  // From 1.37 on the newest endpoint of the resource may be another one.
  const auto endpoint = endpoints_.find(client->resource);
  if (endpoint == endpoints_.end() || endpoint->second != client) return;
  Sets& sets = resources_[client->resource];
  sets.unhealthy.merge(sets.healthy);
  sets.healthy.clear();
}

std::vector<std::string> FakeDeviceManager::history() const {
  const std::lock_guard lock(mutex_);
  return history_;
}
std::size_t FakeDeviceManager::registrations(const std::string& resource) const {
  const std::lock_guard lock(mutex_);
  const auto found = registrations_.find(resource);
  return found == registrations_.end() ? 0 : found->second;
}
std::size_t FakeDeviceManager::lists(const std::string& resource) const {
  const std::lock_guard lock(mutex_);
  const auto found = lists_.find(resource);
  return found == lists_.end() ? 0 : found->second;
}
std::size_t FakeDeviceManager::attempts() const {
  const std::lock_guard lock(mutex_);
  return attempts_;
}

bool FakeDeviceManager::wait_for(const std::function<bool()>& condition, milliseconds limit) {
  // The condition may depend on events that this kubelet does not see: check again every few milliseconds.
  return eventually(condition, limit, [this] {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, milliseconds(5));
  });
}

std::optional<FakeDeviceManager::Amounts> FakeDeviceManager::amounts(const std::string& resource) const {
  const std::lock_guard lock(mutex_);
  const auto found = resources_.find(resource);
  if (found == resources_.end()) return {};
  const Sets& sets = found->second;
  return Amounts{sets.healthy.size() + sets.unhealthy.size(), sets.healthy.size()};
}

bool FakeDeviceManager::wait_health(const std::string& resource, const std::string& device, bool healthy,
                                    milliseconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [&] {
    const auto found = resources_.find(resource);
    return found != resources_.end() && (healthy ? found->second.healthy : found->second.unhealthy).contains(device);
  });
}

std::map<std::string, plugin::Device> FakeDeviceManager::devices(const std::string& resource) const {
  const std::lock_guard lock(mutex_);
  const auto found = resources_.find(resource);
  return found == resources_.end() ? std::map<std::string, plugin::Device>() : found->second.all;
}

void FakeDeviceManager::note(std::string event) {
  const std::lock_guard lock(mutex_);
  history_.push_back(std::move(event));
  changed_.notify_all();
}

}  // namespace cardcage
