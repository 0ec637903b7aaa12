// DRAResourceHealth v1 and v1alpha1 (KEP-4680): the health of a driver's devices, streamed to the kubelet.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <string>

#include "host/dra/health_board.h"
#include "host/kubelet/protocol.h"
#include "host/rpc/latest_stream.h"

namespace cardcage {

// The kubelet forgets a device that is not repeated within `timeout`. The heartbeat is a third of it.
struct HealthTiming {
  Duration heartbeat = std::chrono::seconds(10);
  std::chrono::seconds timeout{30};
};

// [core] One open stream. Sends a long list in several messages.
class HealthStream : public LatestStream<HealthList> {
 protected:
  virtual void write(std::span<const HealthReport> devices) = 0;

 private:
  std::size_t send(const HealthList& list, std::size_t begin) override;
};

// Served even if there is nothing to report: otherwise kubelets 1.34 to 1.36 try again every 5 s, and log it.
class HealthService {
 public:
  // `board` outlives the service.
  HealthService(asio::io_context& core, Clock& clock, HealthBoard& board, std::string driver, HealthTiming timing = {});
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
  void begin(HealthStream& stream);

  const std::string driver_;
  Clock& clock_;
  HealthBoard& board_;
  const HealthTiming timing_;
  const std::array<std::unique_ptr<grpc::Service>, 2> services_;
  std::shared_ptr<const HealthBoard::Listener> subscription_;
  OpenStreams<HealthStream> streams_;
  Instant next_beat_{};
  Wakeup wake_;
};

}  // namespace cardcage
