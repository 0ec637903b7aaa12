// A cluster behind a kube-apiserver: resource.k8s.io v1, v1beta2 or v1beta1 over one HTTP/2 connection.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "host/apiserver/api_session.h"
#include "host/apiserver/labelled_claims.h"
#include "host/apiserver/restores.h"
#include "host/apiserver/slice_feed.h"
#include "host/apiserver/slice_json.h"
#include "host/config/config.h"
#include "host/core/shared_call.h"
#include "host/model/cluster.h"

namespace cardcage {

// [core] Must outlive its calls.
class ApiServer final : public Cluster {
 public:
  // Uses the kubeconfig in `config`, or else the service account of the pod. Reads files but does not connect. `node`
  // is the daemon's.
  static Result<std::unique_ptr<ApiServer>> make(asio::io_context& core, Clock& clock, const ApiServerConfig& config,
                                                 const std::string& node = {});
  ApiServer(asio::io_context& core, Clock& clock, Credentials credentials, ApiPace pace,
            std::optional<ClaimLabelling> labelling = {});

  Task<Result<Claim>> get_claim(std::string name_space, std::string name, Instant deadline) override;
  Task<Result<PodClaims>> get_pod_claims(std::string name_space, std::string pod, Instant deadline) override;
  // The result may be as old as kSharedReads (api_parts.h).
  Task<Result<ClusterNode>> get_node(std::string node_name, Instant deadline) override;
  // Uses server-side apply, with the owner as field manager.
  Task<Status> apply_claim_status(ClaimRef claim, StatusOwner owner, std::vector<DeviceStatus> devices,
                                  Instant deadline) override;
  // Reads pages of 100 claims first, then watches that follow each other. While cardcage-fleet labels claims, reads
  // only those of the node.
  Task<Status> follow_claims(std::function<void(ClaimEvent)> on_event) override;
  // The first list, and the first after the server has forgotten the watch's version, are read from the server's cache,
  // because all nodes start together after an outage. Such a list may be late, but includes the driver's own writes;
  // the watch delivers the other changes. Drivers that start together share it. Other lists follow a failure and are
  // exact: pages of 50 slices, or of fewer if these are large. An exact list starts again once if it expires between
  // two pages.
  Task<Result<SliceList>> list_slices(std::string driver, std::string node_name, Instant deadline) override;
  // Reads the table that kubectl prints, which has no devices: 200 bytes per slice.
  Task<Result<std::vector<PublishedPool>>> list_pools(std::string driver, Instant deadline) override;
  // 10,000 devices are 79 slices. More writes at once would only queue in the API server (priority and fairness).
  std::size_t parallel_writes() const override { return 8; }
  // A slice without a name is named generate_name and 8 random letters.
  Task<Result<Slice>> create_slice(Slice slice, Instant deadline) override;
  Task<Result<Slice>> update_slice(Slice slice, Instant deadline) override;
  Task<Status> delete_slice(Slice slice, Instant deadline) override;
  // All drivers share one watch, which the server ends after 8 to 10 minutes. See SliceFeed.
  Task<Status> watch_slices(std::string driver, std::string node_name, std::string& version,
                            std::function<void(SliceEvent)> on_event) override;
  Contact& contact() override { return session_.contact(); }
  // Creates an Event again that the server has forgotten (--event-ttl, an hour by default).
  Task<Status> write_event(NodeEvent event, Instant deadline) override;

  // The version of resource.k8s.io in use. The first call finds it, and another one does when the server stops serving
  // it.
  std::optional<ResourceApi> api_version() const { return version_; }

 private:
  using MakeCall = std::function<ApiCall(ResourceApi)>;

  // The slices of a node by driver, which each driver takes out once.
  struct ListedNode {
    std::string version;
    std::map<std::string, std::vector<Slice>> slices;
  };
  using ListedNodePtr = std::shared_ptr<ListedNode>;

  Task<Result<ResourceApi>> discover(Instant deadline);
  Task<Result<ResourceApi>> find_version(Instant deadline);
  // Makes a call whose path and body depend on the version.
  Task<Result<std::string>> call(MakeCall make, Instant deadline);
  Task<Result<std::string>> list_claims(std::string selector, std::function<void(ClaimEvent)> on_event);
  Task<Status> follow_selected(std::string selector, std::function<void(ClaimEvent)> on_event);
  Task<Result<std::string>> read_renewal();
  Task<Result<Slice>> write_slice(MakeCall make, Instant deadline);
  Task<Result<std::string>> list_page(std::string query, SliceList& list, Instant deadline);
  Task<Result<SliceList>> list_pages(std::string selector, Duration time);
  Task<Result<ListedNodePtr>> list_cached(std::string node_name, std::string at_least, Instant deadline);
  std::string newest_write() const;
  std::string newest_known(const std::string& node_name) const;
  void follow_restored(const std::string& driver, const std::string& node_name);
  Task<Result<ClusterNode>> read_node(std::string node_name, Instant deadline);
  Task<Status> watch_node(std::string node_name, std::string since, std::function<Status(std::string_view)> on_line);

  asio::io_context& core_;
  Clock& clock_;
  ApiSession session_;
  const std::optional<ClaimLabelling> labelling_;
  LabelledClaims labelled_claims_;
  std::optional<ResourceApi> version_;
  std::set<std::string> listed_;                      // the selectors whose next list is exact
  std::map<std::string, std::string> newest_writes_;  // versions by driver
  Restores restores_;
  SharedCall<ResourceApi> versions_;
  // By node. The daemon has one.
  std::map<std::string, std::shared_ptr<SharedCall<ListedNodePtr>>> first_lists_;
  std::map<std::string, SharedCall<ClusterNode>> nodes_;
  std::map<std::string, std::shared_ptr<SliceFeed>> feeds_;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace cardcage
