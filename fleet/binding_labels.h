// Labels claims that wait for devices of a node, so that the daemon there finds them by a selector instead of watching
// all claims (docs/decisions/0049-the-fleet-labels-claims-for-daemons.md).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "fleet/object_watch.h"
#include "host/core/wakeup.h"

namespace cardcage {

struct BindingLabelOptions {
  std::set<std::string> drivers;  // only claims for their devices are labelled
  std::string name_space, lease;  // the Lease that tells daemons that the labels are complete
};
// `lease` is "NAMESPACE/NAME". Fails if one of the two is missing.
Result<BindingLabelOptions> binding_label_options(const std::vector<std::string>& drivers, std::string_view lease);

// [core] Gets the claims from a watch. Must outlive run().
class BindingLabels final : public ObjectSink {
 public:
  BindingLabels(asio::io_context& core, Clock& clock, ApiSession& session, BindingLabelOptions options);

  // Writes labels, and renews the Lease while `claims` is up to date and no label has been wrong for long.
  // Runs until the surrounding coroutine is cancelled.
  Task<void> run(const ObjectWatch& claims);

  // Claims whose label is wrong now.
  std::size_t waiting() const { return wrong_.size(); }

  std::string key(const json::object& claim) const override;
  void put(const json::object& claim) override;
  void remove(const json::object& claim) override;
  void keep(const std::unordered_set<std::string>& keys) override;

 private:
  struct Wrong {
    std::string name_space, name, uid;
    std::string label;  // the right one; empty = none
    Instant since, due;
    int failures = 0;
  };

  Task<void> write_labels(const ObjectWatch& claims);
  Task<void> write(const ObjectWatch& claims, std::string which);
  Task<void> renew(const ObjectWatch& claims);
  bool is_complete(const ObjectWatch& claims);

  Clock& clock_;
  ApiSession& session_;
  const BindingLabelOptions options_;
  std::map<std::string, Wrong> wrong_;  // by namespace and name
  bool caught_up_ = false;              // all claims of the first list have had their labels
  Wakeup changed_;
};

}  // namespace cardcage
