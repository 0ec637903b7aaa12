#include "host/instance/instance.h"

#include <deque>
#include <type_traits>

#include "host/core/clock.h"
#include "host/core/log.h"
#include "host/instance/claim_view.h"
#include "host/instance/declarations.h"
#include "host/instance/events_view.h"
#include "host/instance/values.h"
#include "host/sinks/lent.h"

namespace cardcage {

// The time between the end of a sweep of checks and its deadline.
static constexpr std::chrono::milliseconds kReplyTime{100};

Instance::Instance(std::string name, LoadedModule module, ModuleIdentity identity, std::function<void()> news_arrived,
                   Asks::Channel channel)
    : name_(std::move(name)),
      functions_(name_, std::move(module)),
      identity_(std::move(identity)),
      asks_(std::move(channel)),
      services_(name_, std::move(news_arrived), asks_, identity_.watch.has_value(), identity_.causes,
                functions_.module().host_minor()),
      snapshot_(name_, identity_.causes, identity_.has(Family::kBind)),
      edits_(name_, asks_),
      bindings_(name_),
      ids_(name_),
      metrics_(name_, identity_.metrics),
      labels_(name_),
      catalogue_(name_) {}

template <>
Status Instance::run(CallContext& context, const StartCall& call) {
  const cage_module& table = functions_.table();
  const ValuesView options(call.options, name_);
  cage_instance* created = nullptr;
  services_.open(call.roots);
  auto status = functions_.call(
      context, [&] { return table.create(context.table(), services_.table(), options.table(), &created); });
  if (!status) services_.descriptors().close();
  if (!status) return status;
  if (created == nullptr)
    return functions_.failure(context, Code::kInternal, "create returned OK and no instance [R13]");
  functions_.set_self(created);
  if (table.start == nullptr) return {};
  status = functions_.call(context, [&] { return table.start(functions_.self(), context.table()); });
  if (!status) {
    functions_.destroy();
    services_.close();
  }
  return status;
}

template <>
Status Instance::run(CallContext& context, const ConfigureCall& call) {
  const ValuesView options(call.options, name_);
  return functions_.call_family(context, &cage_configure::configure, options.table());
}

template <>
Result<SnapshotPtr> Instance::run(CallContext& context, const DiscoverCall&) {
  cage_snapshot* const sink = snapshot_.open();
  const auto status = functions_.call_running(
      context, [&] { return functions_.table().discover(functions_.self(), context.table(), sink); });
  if (!status) {
    snapshot_.abandon();
    return std::unexpected(status.error());
  }
  return std::make_shared<const Snapshot>(snapshot_.finish());
}

template <>
Result<PreparedEdits> Instance::run(CallContext& context, const PrepareCall& call) {
  const ClaimView view(call.claim, &identity_.schemas, name_);
  EditsSink& sink = edits_.take();
  cage_edits* const table = sink.open(context.number(), call.claim.allocations.size());
  const auto status = functions_.call_running(
      context, [&] { return functions_.table().prepare(functions_.self(), context.table(), view.table(), table); });
  auto edits = sink.finish();
  edits_.give_back(sink);
  // The sink's error is more specific than the status that the module makes of it.
  if (!edits && (status || context.explanation().empty()))
    return functions_.failure(context, Code::kInternal, "it asks for an invalid edit: " + edits.error().message);
  if (!status) return std::unexpected(status.error());
  if (identity_.no_prepare && !edits->gives_nothing())
    return functions_.failure(
        context, Code::kInternal,
        "it returns edits, and containers miss them wherever the kubelet leaves the call out, as the "
        "module's flag CAGE_MODULE_NO_PREPARE allows: clear the flag, or return no edits [R26]");
  edits->state_version = identity_.state_version;
  return edits;
}

template <>
Status Instance::run(CallContext& context, const UnprepareCall& call) {
  const ClaimView view(call.claim, nullptr, name_);
  return functions_.call_running(
      context, [&] { return functions_.table().unprepare(functions_.self(), context.table(), view.table()); });
}

template <>
Result<BindProgress> Instance::run(CallContext& context, const BindCall& call) {
  const ClaimView view(call.claim, &identity_.schemas, name_);
  BindSink& sink = bindings_.take();
  cage_bind_sink* const table = sink.open(call.claim.allocations.size());
  const auto status = functions_.call_family(context, &cage_bind::bind, view.table(), table);
  auto progress = sink.finish();
  bindings_.give_back(sink);
  if (!progress && (status || context.explanation().empty()))
    return functions_.failure(context, Code::kInternal, "it states an invalid condition: " + progress.error().message);
  if (!status) return std::unexpected(status.error());
  return progress;
}

template <>
Status Instance::run(CallContext& context, const AttachCall& call) {
  const ClaimView view(call.claim, &identity_.schemas, name_);
  const cage_pod pod = lent(call.pod);
  return functions_.call_family(context, &cage_sandbox::attach, view.table(), &pod);
}

template <>
Status Instance::run(CallContext& context, const DetachCall& call) {
  const ClaimView view(call.claim, &identity_.schemas, name_);
  const cage_pod pod = lent(call.pod);
  return functions_.call_family(context, &cage_sandbox::detach, view.table(), &pod);
}

template <>
Status Instance::run(CallContext& context, const ReconcileCall& call) {
  if (family_of<cage_reconcile>(functions_.table()) == nullptr) return {};
  std::deque<ClaimView> views;
  std::vector<const cage_claim*> claims;
  for (const ModuleClaim& claim : call.live) claims.push_back(views.emplace_back(claim, nullptr, name_).table());
  return functions_.call_family(context, &cage_reconcile::keep, claims.data(),
                                static_cast<std::uint32_t>(claims.size()));
}

template <>
Result<std::vector<std::string>> Instance::run(CallContext& context, const ChooseCall& call) {
  const auto borrow = [](const std::vector<std::string>& ids) {
    std::vector<cage_str> borrowed;
    for (const std::string& id : ids) borrowed.push_back(lent(id));
    return borrowed;
  };
  const std::vector<cage_str> available = borrow(call.available), required = borrow(call.required);
  cage_id_sink* const sink = ids_.open(call.available, call.want);
  const auto status = functions_.call_family(
      context, &cage_preferred::choose, available.data(), static_cast<std::uint32_t>(available.size()), required.data(),
      static_cast<std::uint32_t>(required.size()), static_cast<std::uint32_t>(call.want), sink);
  auto chosen = ids_.finish();
  if (!chosen && (status || context.explanation().empty()))
    return functions_.failure(context, Code::kInternal, "its choice is invalid: " + chosen.error().message);
  if (!status) return std::unexpected(status.error());
  return chosen;
}

template <>
Status Instance::run(CallContext& context, const PreStartCall& call) {
  const ClaimView view(call.claim, nullptr, name_);
  return functions_.call_family(context, &cage_pre_start::pre_start, view.table());
}

// Always checks the first device, so that a sweep advances.
template <>
Result<std::size_t> Instance::run(CallContext& context, const CheckCall& call) {
  if (functions_.table().check == nullptr)
    return std::unexpected(functions_.to_status(context, CAGE_UNIMPLEMENTED).error());
  if (functions_.self() == nullptr) return functions_.failure(context, Code::kFailedPrecondition, "it did not start");
  std::size_t checked = 0;
  Duration longest{0};
  for (const std::string& device : call.device_ids) {
    const Instant begun = SystemClock().now();
    // The reply has to reach the core in time.
    const bool fits = context.deadline() == Instant::max() || context.deadline() - begun > longest + kReplyTime;
    if (context.is_cancelled() || (checked > 0 && !fits)) break;
    context.forget_explanation();
    const Status status = functions_.call(
        context, [&] { return functions_.table().check(functions_.self(), context.table(), lent(device)); });
    if (!status)
      log_limited(LogLevel::kWarn, name_ + "/check", "health check failed",
                  {{"module", name_}, {"device", device}, {"error", status.error().message}});
    longest = std::max(longest, SystemClock().now() - begun);
    ++checked;
  }
  return checked;
}

template <>
Status Instance::run(CallContext& context, const ResetCall& call) {
  return functions_.call_family(context, &cage_reset::reset, lent(call.device_id));
}

template <>
Result<MetricSamplesPtr> Instance::run(CallContext& context, const CollectMetricsCall&) {
  cage_metrics_sink* const sink = metrics_.open();
  const auto status = functions_.call_family(context, &cage_metrics::collect, sink);
  MetricSamples samples = metrics_.finish();
  if (!status) return std::unexpected(status.error());
  return std::make_shared<const MetricSamples>(std::move(samples));
}

template <>
Result<NodeLabels> Instance::run(CallContext& context, const CollectLabelsCall&) {
  cage_label_sink* const sink = labels_.open();
  const auto status = functions_.call_family(context, &cage_labels::collect, sink);
  NodeLabels labels = labels_.finish();
  if (!status) return std::unexpected(status.error());
  return labels;
}

template <>
Result<Catalogue> Instance::run(CallContext& context, const CollectCatalogueCall&) {
  cage_catalogue_sink* const sink = catalogue_.open();
  const auto status = functions_.call_family(context, &cage_catalogue::collect, sink);
  Catalogue catalogue = catalogue_.finish();
  if (!status) return std::unexpected(status.error());
  return catalogue;
}

// Descriptors are polled again after every outcome of the call.
template <>
Status Instance::run(CallContext& context, const EventsCall& call) {
  EventsView view(call.batch, services_.descriptors());
  if (view.is_empty()) return {};
  return functions_.call_family(context, &cage_watch::events, view.list(), view.count(), view.flags());
}

template <>
Status Instance::run(CallContext& context, const QuiesceCall&) {
  if (functions_.table().quiesce == nullptr) return functions_.to_status(context, CAGE_UNIMPLEMENTED);
  return functions_.call_running(context,
                                 [&] { return functions_.table().quiesce(functions_.self(), context.table()); });
}

template <>
Status Instance::run(CallContext& context, const ResumeCall&) {
  if (functions_.table().resume == nullptr) return functions_.to_status(context, CAGE_UNIMPLEMENTED);
  return functions_.call_running(context,
                                 [&] { return functions_.table().resume(functions_.self(), context.table()); });
}

template <>
Status Instance::run(CallContext& context, const QuiesceDeviceCall& call) {
  return functions_.call_family(context, &cage_quiesce::quiesce, lent(call.device_id));
}

template <>
Status Instance::run(CallContext& context, const ResumeDeviceCall& call) {
  return functions_.call_family(context, &cage_quiesce::resume, lent(call.device_id));
}

template <>
Status Instance::run(CallContext& context, const StopCall&) {
  if (functions_.self() == nullptr) return {};
  Status status;
  if (functions_.table().stop != nullptr)
    status = functions_.call(context, [&] { return functions_.table().stop(functions_.self(), context.table()); });
  functions_.destroy();
  services_.close();
  return status;
}

Result<ModuleReply> Instance::execute(CallContext& context, const ModuleCall& call) {
  if (claim_of(call) != nullptr)
    context.on_progress(
        [this, number = context.number()](Progress progress) { services_.note_progress(number, std::move(progress)); });
  return std::visit(
      [&](const auto& one) -> Result<ModuleReply> {
        auto result = run(context, one);
        if (!result) return std::unexpected(std::move(result.error()));
        if constexpr (std::is_void_v<typename std::remove_cvref_t<decltype(one)>::Reply>)
          return ModuleReply();
        else
          return ModuleReply(std::move(*result));
      },
      call);
}

}  // namespace cardcage
