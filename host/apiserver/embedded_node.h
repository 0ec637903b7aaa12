// A cluster in a folder: the whole life of a claim works without Kubernetes.
//
//   <folder>/claims/<namespace>_<name>.json   ResourceClaims as `kubectl get -o json` prints them (or .yaml)
//   <folder>/statuses/<namespace>_<name>.json the status.devices of a claim, apart from it: the daemon changes no claim
//   <folder>/slices/<name>.json               the ResourceSlices that we publish, v1
//   <folder>/events/<name>.json               our newest Events on the node, at most 100
//
// The slices folder is authoritative: deleting or editing a file there by hand causes a watch event.
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "host/core/clock.h"
#include "host/core/file.h"
#include "host/model/cluster.h"

namespace cardcage {

// [core] Must outlive its calls. Reads and writes block, but the files are small and local.
class EmbeddedNode final : public Cluster {
 public:
  // Creates the folders. The node's uid is derived from the file `machine_id`.
  static Result<std::unique_ptr<EmbeddedNode>> make(asio::io_context& core, Clock& clock,
                                                    const std::filesystem::path& folder,
                                                    const std::filesystem::path& machine_id = "/etc/machine-id");

  Task<Result<Claim>> get_claim(std::string name_space, std::string name, Instant deadline) override;
  Task<Result<PodClaims>> get_pod_claims(std::string name_space, std::string pod, Instant deadline) override;
  Task<Result<ClusterNode>> get_node(std::string node_name, Instant deadline) override;
  Task<Status> apply_claim_status(ClaimRef claim, StatusOwner owner, std::vector<DeviceStatus> devices,
                                  Instant deadline) override;
  // Never returns: without a scheduler no claim waits for anything.
  Task<Status> follow_claims(std::function<void(ClaimEvent)> on_event) override;
  Task<Result<SliceList>> list_slices(std::string driver, std::string node_name, Instant deadline) override;
  Task<Result<std::vector<PublishedPool>>> list_pools(std::string driver, Instant deadline) override;
  // The writes run one after the other anyway.
  std::size_t parallel_writes() const override { return 1; }
  Task<Result<Slice>> create_slice(Slice slice, Instant deadline) override;
  Task<Result<Slice>> update_slice(Slice slice, Instant deadline) override;
  Task<Status> delete_slice(Slice slice, Instant deadline) override;
  Task<Status> watch_slices(std::string driver, std::string node_name, std::string& version,
                            std::function<void(SliceEvent)> on_event) override;
  Contact& contact() override { return contact_; }
  Task<Status> write_event(NodeEvent event, Instant deadline) override;

 private:
  struct Stored {
    Slice slice;
    FileStamp file;
  };
  struct Event {
    std::uint64_t version = 0;
    SliceEvent event;
  };

  EmbeddedNode(asio::io_context& core, Clock& clock, std::filesystem::path folder, std::string node_uid);
  std::filesystem::path slice_file(const std::string& name) const;
  // Compares the folder with the known files. Each change becomes an event with a version of its own.
  void rescan();
  void rescan_file(const std::filesystem::path& file, std::map<std::string, Stored>& found);
  void record(bool deleted, Slice slice);
  Result<Slice> write(Slice slice);
  const Stored* find(const std::string& name) const;

  asio::io_context& core_;
  Clock& clock_;
  Contact contact_;  // never lost
  std::filesystem::path folder_;
  std::string node_uid_;
  std::map<std::string, Stored> stored_;  // by name
  std::deque<Event> events_;
  std::uint64_t version_ = 0;
  std::uint64_t oldest_ = 0;  // the oldest version from which a watch may start
  std::uint64_t made_ = 0;    // number of uids and names generated
};

}  // namespace cardcage
