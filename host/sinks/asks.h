// Questions of the module's threads to the host: each waits for its reply.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "host/core/result.h"
#include "host/model/module_ask.h"

namespace cardcage {

class Asks {
 public:
  struct Channel {
    // [any-thread] Passes on the question of a call; answer() follows.
    std::function<void(std::uint64_t number, std::uint64_t call, ModuleAsk ask)> send;
    // [any-thread] Called by the waiting thread, which may do other work in it until `answered` is true. May be null.
    std::function<void(const std::function<bool()>& answered)> attend;
  };
  explicit Asks(Channel channel) : channel_(std::move(channel)) {}

  // [a thread of the module] Returns the reply.
  Result<AskReply> ask(std::uint64_t call, ModuleAsk ask);
  // [any-thread] Ignored if the question does not wait any more.
  void answer(std::uint64_t number, Result<AskReply> answer);
  // [any-thread] Ends all questions: each fails, now and from now on.
  void close();

 private:
  const Channel channel_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t last_ = 0;
  bool closed_ = false;
  std::map<std::uint64_t, std::optional<Result<AskReply>>> open_;
};

}  // namespace cardcage
