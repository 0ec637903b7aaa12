// The kubelet as the one who knows the pods of a node: PodResources v1, the Pods API, its device checkpoint and the
// folders of its pods.
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
  bool init = false;                                        // an ordinary one: in the checkpoint, never in a list
};
struct FakePod {
  std::string name_space, name, uid;
  std::vector<FakeContainer> containers;
  std::string phase = "Running";
};

class FakePodResources {
 public:
  FakePodResources(std::filesystem::path kubelet_root, std::filesystem::path device_plugins);
  ~FakePodResources();
  FakePodResources(const FakePodResources&) = delete;
  FakePodResources& operator=(const FakePodResources&) = delete;

  // PodResources on its socket, as when the kubelet starts and ends.
  void start();
  void stop();
  // The Pods API, which a kubelet may lack.
  void start_pods_api();
  void stop_pods_api();

  // Also tells the watchers of the Pods API and makes and removes the pod's folder.
  void put_pod(const FakePod& pod);
  void remove_pod(const std::string& uid);
  // Lists are empty until the kubelet has heard of its pods.
  void set_synced(bool synced);
  void offer(const std::string& resource, std::vector<std::string> ids);
  // The checkpoint as it would be written now: with a pod that has ended until it is written again.
  void write_checkpoint();

  // Every list names each device so many times.
  void set_numa_nodes(int nodes);
  // Other pods, whose devices are not ours: so many bytes of answer.
  void pad(std::size_t bytes);
  // All calls fail like this until another status is set.
  void set_status(grpc::Status status);
  void set_pods_status(grpc::Status status);
  // Lists get no answer meanwhile.
  void set_stalled(bool stalled);
  // Ends the streams of all watchers.
  void cut_off_watchers();
  void send_raw_event(api::pods::EventType type, std::string pod);

  int lists() const;
  int offers() const;
  int watches() const;  // begun so far

 private:
  class Lister;
  class PodsApi;

  const std::filesystem::path root_, device_plugins_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::map<std::string, FakePod> pods_;  // by UID
  std::map<std::string, std::vector<std::string>> offered_;
  bool synced_ = true, stalled_ = false;
  int numa_nodes_ = 1;
  std::size_t padding_ = 0;
  grpc::Status status_, pods_status_;
  std::deque<api::pods::WatchPodsEvent> events_;  // all there ever were
  int lists_ = 0, offers_ = 0, watches_ = 0;
  std::uint64_t cut_offs_ = 0;
  bool pods_stopping_ = false;

  std::unique_ptr<Lister> lister_;
  std::unique_ptr<PodsApi> pods_api_;
  std::unique_ptr<grpc::Server> server_, pods_server_;
};

}  // namespace cardcage
