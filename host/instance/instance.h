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
  Status run(CallContext& context, const StartCall& call);
  Status run(CallContext& context, const ConfigureCall& call);
  Result<SnapshotPtr> run(CallContext& context, const DiscoverCall& call);
  Result<PreparedEdits> run(CallContext& context, const PrepareCall& call);
  Status run(CallContext& context, const UnprepareCall& call);
  Result<BindProgress> run(CallContext& context, const BindCall& call);
  Status run(CallContext& context, const AttachCall& call);
  Status run(CallContext& context, const DetachCall& call);
  Status run(CallContext& context, const ReconcileCall& call);
  Result<std::vector<std::string>> run(CallContext& context, const ChooseCall& call);
  Status run(CallContext& context, const PreStartCall& call);
  Result<std::size_t> run(CallContext& context, const CheckCall& call);
  Status run(CallContext& context, const ResetCall& call);
  Result<MetricSamplesPtr> run(CallContext& context, const CollectMetricsCall& call);
  Result<NodeLabels> run(CallContext& context, const CollectLabelsCall& call);
  Result<Catalogue> run(CallContext& context, const CollectCatalogueCall& call);
  Status run(CallContext& context, const EventsCall& call);
  Status run(CallContext& context, const QuiesceCall& call);
  Status run(CallContext& context, const ResumeCall& call);
  Status run(CallContext& context, const QuiesceDeviceCall& call);
  Status run(CallContext& context, const ResumeDeviceCall& call);
  Status run(CallContext& context, const StopCall& call);

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
