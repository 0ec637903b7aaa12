// Logs the output of a service line by line.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "host/core/line_budget.h"
#include "host/core/task.h"
#include "host/core/unique_fd.h"
#include "host/model/last_lines.h"
#include "host/process/line_splitter.h"
#include "host/services/service_records.h"

namespace cardcage {

// [core] A named pipe, because the service outlives the daemon: the next daemon opens it again. While no daemon reads,
// a service that prints more than the pipe holds (1 MiB) waits.
//
// Lines beyond the log's budget are left out, and their number is logged; see LineBudget. A flood is read slowly.
class ServiceOutput : public std::enable_shared_from_this<ServiceOutput> {
 public:
  // Creates the pipe unless it exists, and reads it until close().
  static Result<std::shared_ptr<ServiceOutput>> open(asio::io_context& core, std::filesystem::path pipe,
                                                     ServiceKey key);
  // Returns the service's end. It is readable as well, so that printing does not end the service while no daemon runs.
  Result<UniqueFd> end_for_service() const;
  // Reads the buffered output, without waiting.
  void read_rest();
  void close();
  // Removes the pipe: the service has ended for good.
  void remove();
  std::vector<SaidLine> last_lines() const { return last_lines_.all(); }

 private:
  ServiceOutput(asio::io_context& core, std::filesystem::path pipe, ServiceKey key)
      : path_(std::move(pipe)), key_(std::move(key)), pipe_(core), pause_(core) {}
  static Task<void> read(std::shared_ptr<ServiceOutput> self);
  void take(std::string_view text);

  const std::filesystem::path path_;
  const ServiceKey key_;
  asio::posix::stream_descriptor pipe_;
  asio::steady_timer pause_;
  LineSplitter lines_;
  LineBudget budget_;
  LastLines last_lines_;
};

}  // namespace cardcage
