// The worker's side of worker.proto: runs one module and answers for it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/core/unique_fd.h"
#include "host/instance/declarations.h"
#include "host/instance/instance.h"
#include "host/wire/messages.h"
#include "host/worker/inbox.h"

namespace cardcage {

// Reports go out from whatever thread has them, one at a time. They block only while the host does not read, and a host
// that does not read has worse troubles.
class ReportStream {
 public:
  explicit ReportStream(int socket) : socket_(socket) {}
  // [any-thread] What is too large is answered with an error, what cannot be sent ends the process: the host is gone.
  void send(const wire::Report& report);
  // [any-thread] The end of a call.
  void answer(std::uint64_t call, const Status& outcome, wire::Answer content = {});

 private:
  const int socket_;
  std::mutex mutex_;
};

// Calls of the module happen on its thread, everything else on whichever reads.
class Bridge {
 public:
  Bridge(ReportStream& out, Inbox& inbox, UniqueFd image) : out_(out), inbox_(inbox), image_(std::move(image)) {}

  // [reading thread]
  void take(wire::Request request);

 private:
  using Call = std::shared_ptr<CallContext>;
  // Answers when `work`, on the module's thread, has returned. It fills the answer; what it returns is the outcome.
  template <class Work>
  void run(std::string what, const wire::Request& request, Work work);
  void take_start(const wire::Request& request);
  void take_choose(const wire::Request& request);
  Status load(const wire::Load& wanted, wire::Answer& answer);
  Status discover(CallContext& call);
  void cancel(std::uint64_t number);
  void send_news();

  ReportStream& out_;
  Inbox& inbox_;
  UniqueFd image_;
  std::string name_;
  std::vector<ModuleClaim> live_;  // of the reconcile to come
  std::mutex mutex_;
  std::map<std::uint64_t, Call> calls_;  // with the lock held
  // Of the module's thread.
  std::optional<IdentifiedModule> loaded_;  // until it is an instance
  std::unique_ptr<Instance> instance_;
};

}  // namespace cardcage
