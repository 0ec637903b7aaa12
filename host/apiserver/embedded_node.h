// A cluster that is a folder: the whole life of a claim can be tried with no Kubernetes at all.
//
//   <folder>/claims/<namespace>_<name>.json   ResourceClaims as `kubectl get -o json` prints them (or .yaml)
//   <folder>/slices/<name>.json               the ResourceSlices that we publish, v1
//
// The slices folder is the truth: what somebody deletes or edits there by hand is an event to who watches.
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "host/core/clock.h"
#include "host/model/cluster.h"

namespace cardcage {

// [core] Outlives its calls. The files are small and local, they are read and written in place.
class EmbeddedNode final : public Cluster {
 public:
  // Makes the folders. `machine_id` is where the node's uid comes from.
  static Result<std::unique_ptr<EmbeddedNode>> make(Clock& clock, const std::filesystem::path& folder,
                                                    const std::filesystem::path& machine_id = "/etc/machine-id");

  Task<Result<Claim>> get_claim(std::string name_space, std::string name, Instant deadline) override;
  Task<Result<std::string>> get_node_uid(std::string node_name, Instant deadline) override;
  Task<Result<SliceList>> list_slices(std::string driver, std::string node_name, Instant deadline) override;
  Task<Result<Slice>> create_slice(Slice slice, Instant deadline) override;
  Task<Result<Slice>> update_slice(Slice slice, Instant deadline) override;
  Task<Status> delete_slice(Slice slice, Instant deadline) override;
  Task<Status> watch_slices(std::string driver, std::string node_name, std::string& version,
                            std::function<void(SliceEvent)> on_event) override;

 private:
  struct FileState {
    std::uint64_t inode = 0;
    std::int64_t changed_ns = 0;
    std::int64_t size = 0;
    friend bool operator==(const FileState&, const FileState&) = default;
  };
  struct Stored {
    Slice slice;
    FileState file;
  };
  struct Event {
    std::uint64_t version = 0;
    SliceEvent event;
  };

  EmbeddedNode(Clock& clock, std::filesystem::path folder, std::string node_uid);
  std::filesystem::path slice_file(const std::string& name) const;
  // Compares the folder with what we know of it; what changed becomes an event with a version of its own.
  void rescan();
  void rescan_file(const std::filesystem::path& file, std::map<std::string, Stored>& found);
  void record(SliceEvent::Kind kind, Slice slice);
  Result<Slice> write(Slice slice);
  const Stored* find(const std::string& name) const;

  Clock& clock_;
  std::filesystem::path folder_;
  std::string node_uid_;
  std::map<std::string, Stored> stored_;  // by name
  std::deque<Event> events_;
  std::uint64_t version_ = 0;
  std::uint64_t oldest_ = 0;  // a watch may start from here
  std::uint64_t made_ = 0;    // uids and names handed out
};

}  // namespace cardcage
