// Credentials for the API server, and its address, from the pod's service account or from a kubeconfig.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/apiserver/http.h"
#include "host/core/clock.h"
#include "host/core/file.h"

namespace cardcage {

// Places where a pod finds its service account.
struct ServiceAccountPlaces {
  // The places of this pod. Outside of a pod the host is empty.
  static ServiceAccountPlaces of_pod();
  std::string host, port;  // $KUBERNETES_SERVICE_HOST (a name, IPv4 or IPv6 address) and _PORT
  std::filesystem::path folder = "/var/run/secrets/kubernetes.io/serviceaccount";
};

// [core] Tokens rotate (about hourly for a service account), so the files are checked at most every 5 s, and at once
// after the server refused the credentials. Reads block, but the files are small and local.
class Credentials {
 public:
  // Errors name the file, the cause and the remedy.
  static Result<Credentials> from_service_account(Clock& clock, ServiceAccountPlaces places);
  static Result<Credentials> from_kubeconfig(Clock& clock, std::filesystem::path kubeconfig);

  // Never null. If a changed file cannot be read, the last good credentials are kept and the failure is logged.
  std::shared_ptr<const HttpPeer> current();
  // The same without checking the files.
  const HttpPeer& peer() const { return *peer_; }
  // Reads all files now, because the server has refused `peer`. Returns true if the credentials are others than that,
  // so that another attempt may succeed. Calls that are refused together share one change.
  bool differ_from(const HttpPeer& peer);
  // Tells an operator what to check if the server keeps refusing: "check the token in '/var/run/...'".
  const std::string& remedy() const { return remedy_; }

 private:
  struct Loaded {
    HttpPeer peer;
    std::vector<std::filesystem::path> files;  // the files that were read
    std::string remedy;
  };
  using Load = std::function<Result<Loaded>()>;

  Credentials(Clock& clock, Load load) : clock_(&clock), load_(std::move(load)) {}
  static Result<Credentials> make(Clock& clock, Load load);
  static Result<Loaded> load_service_account(const ServiceAccountPlaces& places);
  static Result<Loaded> load_kubeconfig(const std::filesystem::path& file);
  static std::vector<FileStamp> stamps_of(const std::vector<std::filesystem::path>& files);
  void refresh();
  void adopt(Loaded loaded, std::vector<FileStamp> stamps);

  Clock* clock_;
  Load load_;
  std::shared_ptr<const HttpPeer> peer_;
  std::vector<std::filesystem::path> files_;
  std::vector<FileStamp> stamps_;
  std::string remedy_;
  Instant checked_at_;
};

}  // namespace cardcage
