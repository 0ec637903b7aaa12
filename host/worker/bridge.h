// The worker's side of worker.proto: runs one module and sends its answers and reports.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/core/unique_fd.h"
#include "host/instance/instance.h"
#include "host/instance/lane_pool.h"
#include "host/wire/asks.h"
#include "host/wire/calls.h"
#include "host/worker/inbox.h"

namespace cardcage {

// Sends reports from any thread, one at a time. Sending blocks only while the daemon does not read.
class ReportStream {
 public:
  explicit ReportStream(int socket) : socket_(socket) {}
  // [any-thread] A report that is too large becomes an answer with an error. If sending fails, the daemon has exited,
  // and this process exits.
  void send(const wire::Report& report);
  // [any-thread] Sends the final answer of a call.
  void answer(std::uint64_t call, const Status& outcome, wire::Answer content = {});

 private:
  const int socket_;
  std::mutex mutex_;
};

// The module's thread executes its calls, and further threads those for the claims of a concurrent module; everything
// else runs on the thread that reads.
class Bridge {
 public:
  Bridge(ReportStream& out, Inbox& inbox, UniqueFd image) : out_(out), inbox_(inbox), image_(std::move(image)) {}

  // [reading thread]
  void take(wire::Request request, Descriptors descriptors);

 private:
  using Context = std::shared_ptr<CallContext>;
  void take_load(std::uint64_t number, wire::Load wanted);
  void take_live_claim(std::uint64_t number, ModuleClaim claim);
  void take_call(const wire::Request& request, Descriptors descriptors);
  void take_told(const wire::Told& told);
  void cancel(std::uint64_t number);
  // [module's thread]
  Result<ModuleIdentity> load(const wire::Load& wanted);
  // [module's thread, or one of claim_lanes_]
  void execute(const Context& context, const ModuleCall& call);
  void send_part(std::uint64_t number, wire::Report& part);  // sends the part and clears it
  void send_samples(std::uint64_t number, const MetricSamples& samples);
  void send_catalogue(std::uint64_t number, const Catalogue& catalogue);
  void send_snapshot(std::uint64_t number, const Snapshot& snapshot);
  void send_news();                                                               // [any-thread]
  void send_ask(std::uint64_t number, std::uint64_t call, const ModuleAsk& ask);  // [any-thread]

  ReportStream& out_;
  Inbox& inbox_;
  UniqueFd image_;
  std::string name_;
  std::vector<ModuleClaim> live_;  // claims of the next reconcile, which has the number live_call_
  std::uint64_t live_call_ = 0;
  std::mutex mutex_;
  // Guarded by the lock:
  std::map<std::uint64_t, Context> contexts_;  // contexts of open calls
  std::unique_ptr<LanePool> claim_lanes_;      // null unless the module is concurrent
  std::unique_ptr<Instance> instance_;         // set by load
};

}  // namespace cardcage
