// Who we are towards the API server, and who it is: from the pod's service account or from a kubeconfig.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/apiserver/http.h"
#include "host/core/clock.h"

namespace cardcage {

// Where a pod finds its service account.
struct ServiceAccountPlaces {
  std::string host, port;  // $KUBERNETES_SERVICE_HOST (a name, IPv4 or IPv6 address) and _PORT
  std::filesystem::path folder = "/var/run/secrets/kubernetes.io/serviceaccount";
};

// [core] Tokens rotate (about hourly for a service account): the files are looked at again at most every 5 s, and at
// once after the server refused them. The reads are of small local files.
class Credentials {
 public:
  // Errors name the file, the cause and the remedy.
  static Result<Credentials> from_service_account(Clock& clock, ServiceAccountPlaces places);
  static Result<Credentials> from_kubeconfig(Clock& clock, std::filesystem::path kubeconfig);

  // Never null. When a changed file cannot be read the last good one is kept, and that is logged.
  std::shared_ptr<const HttpPeer> current();
  // The same without looking at the files.
  const HttpPeer& peer() const { return *peer_; }
  // Reads all files now. True if anything changed, so that another try may succeed.
  bool refresh();
  // What to do when the server keeps refusing: "check the token in '/var/run/...'".
  const std::string& remedy() const { return remedy_; }

 private:
  struct Loaded {
    HttpPeer peer;
    std::vector<std::filesystem::path> files;  // where it came from
    std::string remedy;
  };
  struct FileState {
    std::uint64_t device = 0, inode = 0;
    std::int64_t changed_ns = 0;
    std::int64_t size = 0;
    friend bool operator==(const FileState&, const FileState&) = default;
  };
  using Load = std::function<Result<Loaded>()>;

  Credentials(Clock& clock, Load load) : clock_(&clock), load_(std::move(load)) {}
  static Result<Credentials> make(Clock& clock, Load load);
  static Result<Loaded> load_service_account(const ServiceAccountPlaces& places);
  static Result<Loaded> load_kubeconfig(const std::filesystem::path& file);
  static std::vector<FileState> states_of(const std::vector<std::filesystem::path>& files);
  void adopt(Loaded loaded, std::vector<FileState> states);

  Clock* clock_;
  Load load_;
  std::shared_ptr<const HttpPeer> peer_;
  std::vector<std::filesystem::path> files_;
  std::vector<FileState> states_;
  std::string remedy_;
  Instant looked_;
};

}  // namespace cardcage
