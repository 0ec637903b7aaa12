// The kubelet's knowledge of the pods on its node: PodResources v1, the Pods API, the device checkpoint and the pods'
// folders.
//
// Models PodResources v1 and the checkpoint of kubelet 1.36 and the Pods API of 1.37 (KEP-4188). tests/cluster runs the
// daemon under real kubelets.
#pragma once

#include <grpcpp/server.h>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/kubelet/clients.h"

namespace cardcage {

struct FakeContainer {
  std::string name;
  std::map<std::string, std::vector<std::string>> devices;  // ids by resource
  bool init = false;                     // an ordinary init container: the checkpoint has it, lists do not
  std::vector<std::string> claims = {};  // in the namespace of the pod
};
struct FakePod {
  std::string name_space, name, uid;
  std::vector<FakeContainer> containers;
  std::string phase = "Running";
  std::vector<std::string> claims = {};  // claims that the pod names
  bool has_templates = false;            // the pod has one more claim, from a template
  bool deleting = false;
};

class FakePodResources {
 public:
  FakePodResources(std::filesystem::path kubelet_root, std::filesystem::path device_plugins);
  ~FakePodResources();
  FakePodResources(const FakePodResources&) = delete;
  FakePodResources& operator=(const FakePodResources&) = delete;

  // Opens and closes the PodResources socket, as a kubelet does when it starts and stops.
  void start();
  void stop();
  // The same for the Pods API, which a kubelet may lack.
  void start_pods_api();
  void stop_pods_api();

  // Also notify the watchers of the Pods API and create or remove the pod's folder.
  void put_pod(const FakePod& pod);
  void remove_pod(const std::string& uid);
  // Lists are empty until the kubelet has read its pods.
  void set_synced(bool synced);
  // The devices that GetAllocatableResources returns.
  void offer(const std::string& resource, std::vector<std::string> ids);
  // Writes the checkpoint. A pod that ends later stays in it until the next write.
  void write_checkpoint();

  // Lists name each device once per NUMA node.
  void set_numa_nodes(int nodes);
  // Adds this many bytes of other pods, with devices of other resources, to each list.
  void pad(std::size_t bytes);
  // All calls fail with this status until another one is set.
  void set_status(grpc::Status status);
  void set_pods_status(grpc::Status status);
  // Lists do not return while stalled.
  void set_stalled(bool stalled);
  // Ends the streams of all watchers with an error.
  void cut_off_watchers();
  void send_raw_event(api::pods::EventType type, std::string pod);

  int lists() const;
  int offers() const;
  int watches() const;  // streams opened so far
  int gets() const;     // calls for one pod

 private:
  class Lister;
  class PodsApi;

  const std::filesystem::path root_, device_plugins_;
  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::map<std::string, FakePod> pods_;  // by UID
  std::map<std::string, std::vector<std::string>> offered_;
  bool synced_ = true, stalled_ = false;
  int numa_nodes_ = 1;
  std::size_t padding_ = 0;
  grpc::Status status_, pods_status_;
  std::deque<api::pods::WatchPodsEvent> events_;  // since the start of the test
  int lists_ = 0, offers_ = 0, watches_ = 0, gets_ = 0;
  std::uint64_t cut_offs_ = 0;
  bool pods_stopping_ = false;

  std::unique_ptr<Lister> lister_;
  std::unique_ptr<PodsApi> pods_api_;
  std::unique_ptr<grpc::Server> server_, pods_server_;
};

}  // namespace cardcage
