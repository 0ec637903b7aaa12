#include "tests/fakes/fake_pod_resources.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "host/core/file.h"
#include "host/rpc/grpc_library.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

api::core::Pod named(const FakePod& pod) {
  api::core::Pod object;
  object.mutable_metadata()->set_name(pod.name);
  object.mutable_metadata()->set_namespace_(pod.name_space);
  object.mutable_metadata()->set_uid(pod.uid);
  return object;
}

api::core::Pod object_of(const FakePod& pod) {
  api::core::Pod object = named(pod);
  if (pod.deleting) object.mutable_metadata()->mutable_deletiontimestamp()->set_seconds(1'800'000'000);
  object.mutable_status()->set_phase(pod.phase);
  for (const std::string& name : pod.claims) {
    auto& claim = *object.mutable_spec()->add_resourceclaims();
    claim.set_name("direct");
    claim.set_resourceclaimname(name);
  }
  if (pod.has_templates) {
    auto& claim = *object.mutable_spec()->add_resourceclaims();
    claim.set_name("made");
    claim.set_resourceclaimtemplatename("a-template");
  }
  return object;
}

api::pods::WatchPodsEvent event_of(api::pods::EventType type, const FakePod& pod) {
  api::pods::WatchPodsEvent event;
  event.set_type(type);
  event.set_pod((type == api::pods::DELETED ? named(pod) : object_of(pod)).SerializeAsString());
  return event;
}

bool ended(const FakePod& pod) { return pod.phase == "Succeeded" || pod.phase == "Failed"; }

std::unique_ptr<grpc::Server> serve(grpc::Service& service, const fs::path& socket) {
  hold_grpc();
  fs::create_directories(socket.parent_path());
  fs::remove(socket);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket.native(), grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  return builder.BuildAndStart();
}

void end_server(std::unique_ptr<grpc::Server>& server, const fs::path& socket) {
  if (!server) return;
  server->Shutdown(std::chrono::system_clock::now());
  server->Wait();
  server.reset();
  fs::remove(socket);
}

}  // namespace

class FakePodResources::Lister final : public api::pod_resources::PodResourcesLister::Service {
 public:
  explicit Lister(FakePodResources& fake) : fake_(fake) {}

  grpc::Status List(grpc::ServerContext* context, const api::pod_resources::ListPodResourcesRequest*,
                    api::pod_resources::ListPodResourcesResponse* response) override {
    std::unique_lock lock(fake_.mutex_);
    ++fake_.lists_;
    while (fake_.stalled_ && !context->IsCancelled()) fake_.changed_.wait_for(lock, std::chrono::milliseconds(5));
    if (!fake_.status_.ok()) return fake_.status_;
    if (fake_.synced_)
      for (const auto& [uid, pod] : fake_.pods_) add(pod, *response);
    for (std::size_t bytes = 0; bytes < fake_.padding_;) {
      auto& pod = *response->add_pod_resources();
      pod.set_name("padding");
      pod.set_namespace_("other");
      auto& devices = *pod.add_containers()->add_devices();
      devices.set_resource_name("other.example.com/device");
      for (int i = 0; i < 1000; ++i) devices.add_device_ids("padding-padding-padding-padding-" + std::to_string(i));
      bytes += pod.ByteSizeLong();
    }
    return grpc::Status::OK;
  }
  grpc::Status GetAllocatableResources(grpc::ServerContext*, const api::pod_resources::AllocatableResourcesRequest*,
                                       api::pod_resources::AllocatableResourcesResponse* response) override {
    const std::lock_guard lock(fake_.mutex_);
    ++fake_.offers_;
    if (!fake_.status_.ok()) return fake_.status_;
    for (const auto& [resource, ids] : fake_.offered_)
      for (const std::string& id : ids) {
        auto& devices = *response->add_devices();
        devices.set_resource_name(resource);
        devices.add_device_ids(id);
      }
    return grpc::Status::OK;
  }

 private:
  void add(const FakePod& pod, api::pod_resources::ListPodResourcesResponse& response) const {
    if (ended(pod)) return;
    auto& out = *response.add_pod_resources();
    out.set_name(pod.name);
    out.set_namespace_(pod.name_space);
    for (const FakeContainer& container : pod.containers) {
      if (container.init) continue;
      auto& listed = *out.add_containers();
      listed.set_name(container.name);
      for (const std::string& claim : container.claims) {
        auto& used = *listed.add_dynamic_resources();
        used.set_claim_namespace(pod.name_space);
        used.set_claim_name(claim);
      }
      for (const auto& [resource, ids] : container.devices)
        for (const std::string& id : ids)
          for (int node = 0; node < fake_.numa_nodes_; ++node) {
            auto& devices = *listed.add_devices();
            devices.set_resource_name(resource);
            devices.add_device_ids(id);
          }
    }
  }

  FakePodResources& fake_;
};

class FakePodResources::PodsApi final : public api::pods::Pods::Service {
 public:
  explicit PodsApi(FakePodResources& fake) : fake_(fake) {}

  grpc::Status WatchPods(grpc::ServerContext* context, const api::pods::WatchPodsRequest*,
                         grpc::ServerWriter<api::pods::WatchPodsEvent>* stream) override {
    std::unique_lock lock(fake_.mutex_);
    ++fake_.watches_;
    if (!fake_.pods_status_.ok()) return fake_.pods_status_;
    const auto cut_offs = fake_.cut_offs_;
    std::size_t next = fake_.events_.size();
    std::vector<api::pods::WatchPodsEvent> first;
    for (const auto& [uid, pod] : fake_.pods_) first.push_back(event_of(api::pods::ADDED, pod));
    first.emplace_back().set_type(api::pods::INITIAL_SYNC_COMPLETE);
    lock.unlock();
    for (const auto& event : first) stream->Write(event);
    lock.lock();
    while (!context->IsCancelled() && !fake_.pods_stopping_) {
      if (fake_.cut_offs_ != cut_offs) return {grpc::StatusCode::RESOURCE_EXHAUSTED, "client too slow"};
      if (next == fake_.events_.size()) {
        fake_.changed_.wait_for(lock, std::chrono::milliseconds(5));
        continue;
      }
      const auto event = fake_.events_[next++];
      lock.unlock();
      stream->Write(event);
      lock.lock();
    }
    return {grpc::StatusCode::UNAVAILABLE, "the kubelet is stopping"};
  }

  grpc::Status GetPod(grpc::ServerContext*, const api::pods::GetPodRequest* request,
                      api::pods::GetPodResponse* response) override {
    const std::lock_guard lock(fake_.mutex_);
    ++fake_.gets_;
    if (!fake_.pods_status_.ok()) return fake_.pods_status_;
    const auto pod = fake_.pods_.find(request->poduid());
    if (pod == fake_.pods_.end()) return {grpc::StatusCode::NOT_FOUND, "pod not found"};
    response->set_pod(object_of(pod->second).SerializeAsString());
    return grpc::Status::OK;
  }

 private:
  FakePodResources& fake_;
};

FakePodResources::FakePodResources(fs::path kubelet_root, fs::path device_plugins)
    : root_(std::move(kubelet_root)),
      device_plugins_(std::move(device_plugins)),
      lister_(std::make_unique<Lister>(*this)),
      pods_api_(std::make_unique<PodsApi>(*this)) {
  fs::create_directories(root_ / "pods");
  fs::create_directories(device_plugins_);
}

FakePodResources::~FakePodResources() {
  stop();
  stop_pods_api();
}

void FakePodResources::start() {
  server_ = serve(*lister_, KubeletSockets::below(root_, device_plugins_).pod_resources);
}

void FakePodResources::stop() { end_server(server_, KubeletSockets::below(root_, device_plugins_).pod_resources); }

void FakePodResources::start_pods_api() {
  pods_stopping_ = false;
  pods_server_ = serve(*pods_api_, KubeletSockets::below(root_, device_plugins_).pods);
}

void FakePodResources::stop_pods_api() {
  {
    const std::lock_guard lock(mutex_);
    pods_stopping_ = true;
    changed_.notify_all();
  }
  end_server(pods_server_, KubeletSockets::below(root_, device_plugins_).pods);
}

void FakePodResources::put_pod(const FakePod& pod) {
  fs::create_directories(root_ / "pods" / pod.uid);
  const std::lock_guard lock(mutex_);
  events_.push_back(event_of(pods_.contains(pod.uid) ? api::pods::MODIFIED : api::pods::ADDED, pod));
  pods_[pod.uid] = pod;
  changed_.notify_all();
}

void FakePodResources::remove_pod(const std::string& uid) {
  fs::remove_all(root_ / "pods" / uid);
  const std::lock_guard lock(mutex_);
  events_.push_back(event_of(api::pods::DELETED, pods_.at(uid)));
  pods_.erase(uid);
  changed_.notify_all();
}

void FakePodResources::set_synced(bool synced) {
  const std::lock_guard lock(mutex_);
  synced_ = synced;
}

void FakePodResources::offer(const std::string& resource, std::vector<std::string> ids) {
  const std::lock_guard lock(mutex_);
  offered_[resource] = std::move(ids);
}

void FakePodResources::write_checkpoint() {
  json::array entries;
  const std::lock_guard lock(mutex_);
  for (const auto& [uid, pod] : pods_) {
    if (ended(pod)) continue;
    for (const FakeContainer& container : pod.containers)
      for (const auto& [resource, ids] : container.devices)
        entries.push_back(json::object{{"PodUID", uid},
                                       {"ContainerName", container.name},
                                       {"ResourceName", resource},
                                       {"DeviceIDs", json::object{{"-1", json::array(ids.begin(), ids.end())}}},
                                       {"AllocResp", "GgA="}});
  }
  const json::object file{{"Data", json::object{{"PodDeviceEntries", entries}, {"RegisteredDevices", json::object{}}}},
                          {"Checksum", 1234567890}};
  (void)write_file_atomically(device_plugins_ / "kubelet_internal_checkpoint", json::serialize(file), 0600, false);
}

void FakePodResources::set_numa_nodes(int nodes) {
  const std::lock_guard lock(mutex_);
  numa_nodes_ = nodes;
}

void FakePodResources::pad(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  padding_ = bytes;
}

void FakePodResources::set_status(grpc::Status status) {
  const std::lock_guard lock(mutex_);
  status_ = std::move(status);
}

void FakePodResources::set_pods_status(grpc::Status status) {
  const std::lock_guard lock(mutex_);
  pods_status_ = std::move(status);
}

void FakePodResources::cut_off_watchers() {
  const std::lock_guard lock(mutex_);
  ++cut_offs_;
  changed_.notify_all();
}

void FakePodResources::send_raw_event(api::pods::EventType type, std::string pod) {
  const std::lock_guard lock(mutex_);
  events_.emplace_back().set_type(type);
  events_.back().set_pod(std::move(pod));
  changed_.notify_all();
}

void FakePodResources::set_stalled(bool stalled) {
  const std::lock_guard lock(mutex_);
  stalled_ = stalled;
  changed_.notify_all();
}

int FakePodResources::lists() const {
  const std::lock_guard lock(mutex_);
  return lists_;
}

int FakePodResources::offers() const {
  const std::lock_guard lock(mutex_);
  return offers_;
}

int FakePodResources::watches() const {
  const std::lock_guard lock(mutex_);
  return watches_;
}

int FakePodResources::gets() const {
  const std::lock_guard lock(mutex_);
  return gets_;
}

}  // namespace cardcage
