// What the API server holds of ours, as far as lists, events and answers have told.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/model/cluster.h"

namespace cardcage {

// [core] Events lag behind answers, so what is older than what is known is ignored. Resource versions are compared as
// the numbers they are (guaranteed since Kubernetes 1.35, true before).
class SliceStore {
 public:
  enum class News { kNone, kChanged, kDeleted };

  // The answer to a list.
  void replace(std::vector<Slice> listed);
  News take(SliceEvent event);
  // The answer to a create or update.
  void put(Slice stored);
  // The same where the server changed on the way in what it had no gate against, as admission webhooks do: what was
  // sent is then taken as stored, or we would send it again and again.
  void put_altered(const Slice& sent, Slice stored);
  void remove(const std::string& name) { slices_.erase(name); }

  std::map<std::string, std::vector<const Slice*>> by_pool() const;

 private:
  std::map<std::string, Slice> slices_;  // by name
};

}  // namespace cardcage
