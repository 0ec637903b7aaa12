// Reads a descriptor that returns one record per read, at a bounded rate.
#pragma once

#include <functional>
#include <memory>

#include "host/core/clock.h"
#include "host/core/unique_fd.h"

namespace cardcage {

// [core] A flood costs the core a few milliseconds per second at most: the kernel drops records that the reader does
// not get in time, and reports the loss. The destructor ends it.
class RecordReader {
 public:
  enum class Outcome : std::uint8_t { kRead, kNothing, kLost };
  struct Listener {
    // Reads and handles one record, and does not block.
    std::function<Result<Outcome>(int descriptor)> read;
    std::function<void()> lost;  // records were dropped before the next one
    // The reader cannot continue; no other call follows. The listener may destroy it.
    std::function<void(Error)> failed;
  };
  // `descriptor` does not block.
  RecordReader(asio::io_context& core, Clock& clock, UniqueFd descriptor, Listener listener);
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;
  ~RecordReader();

 private:
  struct Feed;
  static Task<void> run(std::shared_ptr<Feed> feed);
  static bool read_some(const std::shared_ptr<Feed>& feed);

  const std::shared_ptr<Feed> feed_;
};

}  // namespace cardcage
