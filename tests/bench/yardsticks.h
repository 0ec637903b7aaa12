// The parts that every prepare needs, each measured alone beside it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "host/apiserver/api_server.h"
#include "host/apiserver/api_session.h"
#include "host/core/unique_fd.h"
#include "host/kubelet/clients.h"
#include "host/model/claim.h"

namespace cardcage::bench {

// An empty NodePrepareResources. Throws if that fails.
void call_empty(const DriverClients& clients);

// GETs a claim with the daemon's own API client. Throws if that fails.
class ClaimReader {
 public:
  explicit ClaimReader(const std::filesystem::path& kubeconfig);
  void read(const ClaimRef& claim);

 private:
  Task<bool> get(ClaimRef claim);

  asio::io_context core_;
  SystemClock clock_;
  std::unique_ptr<ApiServer> api_;
};

// Counts the requests for claims and pods that the API server has had. Its account must be allowed to read /metrics.
class RequestCounter {
 public:
  explicit RequestCounter(const std::filesystem::path& kubeconfig);
  double count();

 private:
  Task<Result<std::string>> read_metrics();

  asio::io_context core_;
  SystemClock clock_;
  ApiSession session_;
};

// The minimal durable commit: an append to a file in the same folder and one fsync.
class SyncedFile {
 public:
  explicit SyncedFile(const std::string& path);
  void append();

 private:
  UniqueFd fd_;
};

}  // namespace cardcage::bench
