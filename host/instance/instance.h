// One instance of a loaded module: calls its functions and turns what they say into results.
//
// Knows nothing of threads and the core: InProcessModule runs it on a lane, a worker process in its main loop. All
// members are called by one thread at a time, the module thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/instance/call_context.h"
#include "host/instance/edits_sink.h"
#include "host/instance/host_services.h"
#include "host/instance/id_sink.h"
#include "host/instance/snapshot_sink.h"
#include "host/loader/loader.h"
#include "host/model/module.h"

namespace cardcage {

class Instance {
 public:
  // `name` is the module's in the configuration; `news` as in HostServices.
  Instance(std::string name, LoadedModule module, ModuleIdentity identity, OptionValues options,
           std::function<void()> news);
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  // Create, then start; what was created is destroyed if start fails [R13].
  Status start(CallContext& call);
  Result<Snapshot> discover(CallContext& call);
  Result<PreparedEdits> prepare(CallContext& call, const ModuleClaim& claim);
  Status unprepare(CallContext& call, const ModuleClaim& claim);
  Status reconcile(CallContext& call, const std::vector<ModuleClaim>& live);
  Result<std::vector<std::string>> choose(CallContext& call, const std::vector<std::string>& available,
                                          const std::vector<std::string>& required, std::size_t want);
  Status pre_start(CallContext& call, const ModuleClaim& claim);
  Status check(CallContext& call, const std::string& device_id);
  Status quiesce(CallContext& call);
  Status resume(CallContext& call);
  // Stop and destroy; destroyed even if stop fails. Ok if it is not running.
  Status stop(CallContext& call);

  const std::string& name() const { return name_; }
  const ModuleIdentity& identity() const { return identity_; }
  HostServices& services() { return services_; }
  // Uses of a sink that were none of the call's business.
  std::uint64_t strangers() const { return snapshot_.strangers() + edits_.strangers() + ids_.strangers(); }

 private:
  // Runs one function of the module; no exception passes [R9], and any number it returns becomes a Status.
  template <class Function>
  Status enter(const CallContext& call, Function function);
  // The same for functions that need an instance.
  template <class Function>
  Status enter_running(const CallContext& call, Function function);
  Status to_status(const CallContext& call, cage_status status) const;
  std::string failure(const CallContext& call, std::string_view why) const;
  void destroy();

  std::string name_;
  LoadedModule module_;
  ModuleIdentity identity_;
  OptionValues options_;
  HostServices services_;
  SnapshotSink snapshot_;
  EditsSink edits_;
  IdSink ids_;
  cage_instance* self_ = nullptr;
};

}  // namespace cardcage
