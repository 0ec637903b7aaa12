// A cardcage-worker as its host sees it: a child process, a socket for messages, and whatever it prints.
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/core/task.h"
#include "host/core/unique_fd.h"
#include "host/module/child_process.h"
#include "host/wire/frame.h"
#include "host/wire/messages.h"

namespace cardcage {

// [core] Killed, with all that it started, when the object goes; who has the child sees whether that ends it.
class WorkerProcess : public std::enable_shared_from_this<WorkerProcess> {
 public:
  struct Program {
    std::filesystem::path file;            // cardcage-worker
    std::vector<std::string> environment;  // "NAME=value"
  };
  struct Events {
    std::function<void(const wire::Report&)> report;
    // A line that the module or a library of it printed.
    std::function<void(const std::string& line)> printed;
    // It is gone, last of all: "was killed by signal 11 (Segmentation fault)".
    std::function<void(const std::string& how)> ended;
  };
  // `image` is the module, which the worker inherits.
  static Result<std::shared_ptr<WorkerProcess>> start(asio::io_context& core, const Program& program, int image,
                                                      Events events);
  ~WorkerProcess();

  // In the order of the calls; an error for a message that is too large.
  Status send(const wire::Request& request);
  // SIGKILL to the worker and to what it forked. `ended` follows, unless the kernel holds it.
  void kill();
  bool has_ended() const { return ended_; }
  // It may outlive the object.
  const std::shared_ptr<ChildProcess>& child() const { return child_; }

 private:
  WorkerProcess(asio::io_context& core, Events events);
  Status spawn_child(const Program& program, int image);
  static Task<void> write_messages(std::weak_ptr<WorkerProcess> weak);
  template <class Stream>
  static Task<void> read(std::weak_ptr<WorkerProcess> weak, Stream WorkerProcess::* stream,
                         void (WorkerProcess::*take)(std::string_view));
  static Task<void> await_end(std::weak_ptr<WorkerProcess> weak);
  void end();
  void take_messages(std::string_view bytes);
  void take_output(std::string_view bytes);
  template <class Stream>
  void take_last(Stream& stream, void (WorkerProcess::*take)(std::string_view));

  asio::io_context& core_;
  Events events_;
  asio::local::stream_protocol::socket socket_;
  asio::posix::stream_descriptor output_, end_;
  std::shared_ptr<ChildProcess> child_;
  FrameReader reader_;
  std::string line_;
  std::deque<std::string> frames_;
  bool writing_ = false, ended_ = false;
  std::string broken_;  // what was wrong with its messages
};

}  // namespace cardcage
