// DRAResourceHealth v1 and v1alpha1 (KEP-4680): the health of a driver's devices, streamed to the kubelet.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <set>
#include <span>

#include "host/core/wakeup.h"
#include "host/kubelet/health_board.h"
#include "host/kubelet/protocol.h"

namespace cardcage {

// The kubelet forgets a device that is not repeated within `timeout`, so a third of it is the pace.
struct HealthTiming {
  Duration heartbeat = std::chrono::seconds(10);
  std::chrono::seconds timeout{30};
};

// [core] One open stream. At most one write is on its way; what comes meanwhile replaces what waits.
class HealthStream {
 public:
  virtual ~HealthStream() = default;

  // Sends the list as soon as the stream is free, even if it is the one sent last.
  void offer(HealthListPtr list);
  void finish(const grpc::Status& status);
  void written();

 protected:
  // Starts one write, or ends the RPC; never both at once, nothing after the end.
  virtual void send(std::span<const HealthReport> devices) = 0;
  virtual void end(const grpc::Status& status) = 0;

 private:
  void advance();

  HealthListPtr latest_, sending_;
  std::span<const HealthReport> rest_;  // of sending_
  bool fresh_ = false;                  // latest_ is not yet being sent
  bool writing_ = false, ended_ = false;
};

// Always served, even with nothing to say: kubelets 1.34 to 1.36 try every 5 s otherwise, and log it.
class HealthService {
 public:
  // `board` outlives the service.
  HealthService(asio::io_context& core, Clock& clock, HealthBoard& board, HealthTiming timing = {});
  ~HealthService();
  HealthService(const HealthService&) = delete;
  HealthService& operator=(const HealthService&) = delete;

  std::array<grpc::Service*, 2> services();
  // [core] Sends the heartbeats until close() ends all streams.
  Task<void> run();
  void close();
  std::size_t streams() const { return streams_.size(); }

 private:
  template <class Version>
  class Service;
  template <class Version>
  class Stream;
  void attach(std::shared_ptr<HealthStream> stream);
  void drop(const std::shared_ptr<HealthStream>& stream);
  void offer_to_all(const HealthListPtr& list);

  asio::io_context& core_;
  Clock& clock_;
  HealthBoard& board_;
  const HealthTiming timing_;
  const std::array<std::unique_ptr<grpc::Service>, 2> services_;
  std::shared_ptr<const HealthBoard::Listener> subscription_;
  std::set<std::shared_ptr<HealthStream>> streams_;
  Instant next_beat_{};
  Wakeup wake_;
  bool closed_ = false;
};

}  // namespace cardcage
