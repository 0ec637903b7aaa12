// What Cardcage needs of a cluster: claims and the Node to read, ResourceSlices to own.
//
// ApiServer speaks to kube-apiserver; EmbeddedNode is the same over folders, with no cluster at all.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/core/task.h"
#include "host/model/claim.h"
#include "host/model/slice.h"

namespace cardcage {

struct SliceList {
  std::vector<Slice> slices;
  std::string resource_version;
};

struct SliceEvent {
  enum class Kind { kAdded, kModified, kDeleted } kind = Kind::kAdded;
  Slice slice;
};

// [core] Errors: kNotFound (404), kAlreadyExists (409 on create), kAborted (409 conflict on update/delete),
// kOutOfRange (410 gone: list again), kInvalidArgument (400, 422: retrying does not help), kPermissionDenied (403),
// kUnauthenticated (401), kResourceExhausted (429 after its retries), kUnavailable (no answer), kUnimplemented (the
// server does not serve resource.k8s.io), kCancelled.
class Cluster {
 public:
  virtual ~Cluster() = default;

  virtual Task<Result<Claim>> get_claim(std::string name_space, std::string name, Instant deadline) = 0;
  virtual Task<Result<std::string>> get_node_uid(std::string node_name, Instant deadline) = 0;

  virtual Task<Result<SliceList>> list_slices(std::string driver, std::string node_name, Instant deadline) = 0;
  // The answers are the stored objects: compare them, a disabled feature gate drops fields without a word.
  virtual Task<Result<Slice>> create_slice(Slice slice, Instant deadline) = 0;
  virtual Task<Result<Slice>> update_slice(Slice slice, Instant deadline) = 0;
  // With preconditions on uid and resource_version; ok if it is gone already.
  virtual Task<Status> delete_slice(Slice slice, Instant deadline) = 0;
  // Runs until the stream ends (ok), fails, or the surrounding coroutine is cancelled. `version` is advanced with
  // every event and bookmark, so that the next watch goes on where this one ended.
  virtual Task<Status> watch_slices(std::string driver, std::string node_name, std::string& version,
                                    std::function<void(SliceEvent)> on_event) = 0;
};

}  // namespace cardcage
