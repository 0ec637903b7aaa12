// The daemon's side of a cardcage-worker: a child process, a socket for messages, and the printed output.
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/core/clock.h"
#include "host/core/descriptors.h"
#include "host/core/unique_fd.h"
#include "host/process/child_process.h"
#include "host/process/line_splitter.h"
#include "host/wire/frame.h"
#include "host/wire/messages.h"

namespace cardcage {

// [core] The owner calls close(); the coroutines share the object and end then.
//
// Unsolicited data of a worker is read at a bounded rate. A worker that sends more blocks while it writes, and costs
// the core no more than any other.
class WorkerProcess : public std::enable_shared_from_this<WorkerProcess> {
 public:
  struct Program {
    std::filesystem::path file;            // cardcage-worker
    std::vector<std::string> environment;  // "NAME=value"
    std::shared_ptr<ControlGroup> group;   // null = none
  };
  struct Events {
    std::function<void(const wire::Report&)> report;
    // A line that the module or one of its libraries printed.
    std::function<void(const std::string& line)> printed;
    // The worker has exited: "was killed by signal 11 (Segmentation fault)". No event follows.
    std::function<void(const std::string& how)> ended;
  };
  // The worker inherits `image`, the module.
  static Result<std::shared_ptr<WorkerProcess>> start(asio::io_context& core, const Program& program, int image,
                                                      Events events);
  ~WorkerProcess() { close(); }

  // Kills the worker and its forks; child() says whether they have ended. No event follows. Idempotent.
  void close();
  // Messages go out in the order of the calls. Fails for a message that is too large.
  Status send(wire::Request request, Descriptors descriptors = {});
  // Sends SIGKILL to the worker and its forks. `ended` follows once the kernel lets the worker exit.
  void kill();
  bool has_ended() const { return ended_; }
  // Callers may keep it longer than the object.
  const std::shared_ptr<ChildProcess>& child() const { return child_; }

 private:
  struct Frame {
    std::string bytes;
    Descriptors descriptors;
  };
  WorkerProcess(asio::io_context& core, Events events);
  Status spawn_child(const Program& program, int image);
  static Task<void> write_messages(std::shared_ptr<WorkerProcess> self);
  // Returns the number of bytes sent along with the descriptors.
  Task<std::size_t> send_descriptors(const Frame& frame, boost::system::error_code& failed);
  // The allowance for unsolicited data in a period, and the pause until the next one.
  struct Pace {
    Pace(asio::io_context& core, std::size_t most) : limit(most), pause(core) {}
    const std::size_t limit;
    std::size_t said = 0;
    asio::steady_timer pause;
  };
  template <class Stream>
  static Task<void> read(std::shared_ptr<WorkerProcess> self, Stream& stream, Pace& pace,
                         void (WorkerProcess::*take)(std::string_view));
  static Task<void> await_end(std::shared_ptr<WorkerProcess> self);
  void end();
  void close_streams();
  void take_messages(std::string_view bytes);
  void take_output(std::string_view bytes);
  template <class Stream>
  void take_rest(Stream& stream, void (WorkerProcess::*take)(std::string_view));

  asio::io_context& core_;
  Events events_;
  asio::local::stream_protocol::socket socket_;
  asio::posix::stream_descriptor output_, end_;
  std::shared_ptr<ChildProcess> child_;
  FrameReader reader_;
  LineSplitter lines_;
  std::deque<Frame> frames_;
  Pace reports_, printed_bytes_;
  bool writing_ = false;
  bool ended_ = false;  // the worker has exited, or the object is closed
  std::string broken_;  // error in its messages
};

}  // namespace cardcage
