// Our slices on the API server, as known from lists, events and responses.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/model/cluster.h"

namespace cardcage {

// [core] Events lag behind responses, so older versions than the known one are ignored.
class SliceStore {
 public:
  enum class Change { kNone, kChanged, kDeleted };

  // Takes the response to a list. Returns kDeleted if it lacks a known slice.
  Change replace(std::vector<Slice>&& listed);
  Change apply(SliceEvent event);
  // Takes the response to a create or update.
  void put(Slice stored);
  // Takes a response whose content the server changed (an admission webhook does that). Remembers the content that was
  // sent instead, so that it is not sent again and again.
  void put_altered(const Slice& sent, Slice stored);
  void remove(const std::string& name) { slices_.erase(name); }

  std::map<std::string, std::vector<const Slice*>> by_pool() const;

 private:
  std::map<std::string, Slice> slices_;  // by name
};

}  // namespace cardcage
