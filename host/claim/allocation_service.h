// What the kubelet asks of a device-plugin resource. The gRPC service stands in front of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/core/task.h"
#include "host/model/edits.h"

namespace cardcage {

// What one container gets: the kubelet's ContainerAllocateResponse. Runtimes apply it again at every restart of the
// container, so it stays valid for the life of the pod.
struct ContainerGrant {
  std::vector<std::string> cdi_devices;            // fully qualified names
  std::map<std::string, std::string> annotations;  // for runtimes that take CDI names from there
  Edits edits;                                     // env, device nodes and mounts to be passed on as they are
  friend bool operator==(const ContainerGrant&, const ContainerGrant&) = default;
};

struct PreferenceQuery {
  std::vector<std::string> available, required;  // required ones are available, too
  std::size_t wanted = 0;                        // in all, with the required ones
};

// What the kubelet is told of a resource before it uses it.
struct ResourceTraits {
  bool pre_start = false;  // call pre_start before each start of a container
  friend bool operator==(const ResourceTraits&, const ResourceTraits&) = default;
};

// [core] One per resource. Ids are the kubelet's. The deadline is when the caller must have an answer; the kubelet sets
// none for allocate() and admits no other pod of the node while it waits.
class AllocationService {
 public:
  virtual ~AllocationService() = default;

  virtual ResourceTraits traits() const = 0;
  // For one container. May come again for ids that are handed out: a later container of the same pod, or a pod whose
  // predecessor has ended. The error's text reaches the pod's status.
  virtual Task<Result<ContainerGrant>> allocate(std::vector<std::string> ids, Instant deadline) = 0;
  // Always an answer: an error would fail the pod. At most `wanted` of `available`, the required ones first.
  virtual Task<std::vector<std::string>> preferred(PreferenceQuery query, Instant deadline) = 0;
  virtual Task<Status> pre_start(std::vector<std::string> ids, Instant deadline) = 0;
};

}  // namespace cardcage
