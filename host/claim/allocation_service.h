// The kubelet's requests for a device-plugin resource. The gRPC service calls it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/core/task.h"
#include "host/model/edits.h"

namespace cardcage {

// Corresponds to the kubelet's ContainerAllocateResponse. It stays valid for the life of the pod, because runtimes
// apply it at every restart of the container.
struct ContainerGrant {
  std::vector<std::string> cdi_devices;            // fully qualified names
  std::map<std::string, std::string> annotations;  // for runtimes that take CDI names from there
  Edits edits;                                     // env, device nodes and mounts to be passed on as they are
  friend bool operator==(const ContainerGrant&, const ContainerGrant&) = default;
};

struct PreferenceQuery {
  std::vector<std::string> available, required;  // `required` is a subset of `available`
  std::size_t wanted = 0;                        // including the required ones
};

// The kubelet reads these options before it uses a resource.
struct ResourceTraits {
  bool pre_start = false;  // call pre_start before each start of a container
  friend bool operator==(const ResourceTraits&, const ResourceTraits&) = default;
};

// [core] One per resource. Ids are the kubelet's.
//
// Every call returns by `deadline`, even if a module or a disk hangs: then with kDeadlineExceeded and the thing it
// waited for, or for preferred() with the host's own choice. No caller enforces the deadline again. The kubelet sets no
// deadline for allocate(), and admits no other pod of the node while it waits.
class AllocationService {
 public:
  virtual ~AllocationService() = default;

  virtual ResourceTraits traits() const = 0;
  // Allocates for one container. The ids may be handed out already: to an earlier container of the same pod, or to a
  // pod that has ended. The error's text reaches the pod's status.
  virtual Task<Result<ContainerGrant>> allocate(std::vector<std::string> ids, Instant deadline) = 0;
  // Returns at most `wanted` of `available`, the required ones first. Never an error, which would fail the pod.
  virtual Task<std::vector<std::string>> preferred(PreferenceQuery query, Instant deadline) = 0;
  virtual Task<Status> pre_start(std::vector<std::string> ids, Instant deadline) = 0;
};

}  // namespace cardcage
