// One instance of a loaded module: calls its functions and turns their return values into results.
//
// It knows nothing of threads and the core: InProcessModule runs it on a lane, a worker on its module thread. One
// thread at a time calls its members, the module thread, but calls for different claims may overlap all calls that
// neither start nor stop it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/instance/host_services.h"
#include "host/instance/module_functions.h"
#include "host/model/module_call.h"
#include "host/sinks/asks.h"
#include "host/sinks/bind_sink.h"
#include "host/sinks/catalogue_sink.h"
#include "host/sinks/edits_sink.h"
#include "host/sinks/id_sink.h"
#include "host/sinks/label_sink.h"
#include "host/sinks/metrics_sink.h"
#include "host/sinks/sink_pool.h"
#include "host/sinks/snapshot_sink.h"

namespace cardcage {

class Instance {
 public:
  // `name` is the module's name in the configuration; for `news_arrived` see HostServices.
  Instance(std::string name, LoadedModule module, ModuleIdentity identity, std::function<void()> news_arrived,
           Asks::Channel channel);
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  // Start creates the instance and starts it; if starting fails, it is destroyed again [R13]. Stop destroys it even if
  // stopping fails, and succeeds if it does not run.
  Result<ModuleReply> execute(CallContext& context, const ModuleCall& call);

  HostServices& services() { return services_; }
  Asks& asks() { return asks_; }

 private:
  // Specialized for each call in the source file.
  template <class Call>
  Result<typename Call::Reply> run(CallContext& context, const Call& call);

  std::string name_;
  ModuleFunctions functions_;
  ModuleIdentity identity_;
  Asks asks_;
  HostServices services_;
  SnapshotSink snapshot_;
  SinkPool<EditsSink, Asks&> edits_;
  SinkPool<BindSink> bindings_;
  IdSink ids_;
  MetricsSink metrics_;
  LabelSink labels_;
  CatalogueSink catalogue_;
};

}  // namespace cardcage
