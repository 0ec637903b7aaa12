#include "host/wire/calls.h"

#include "host/model/text_rules.h"

namespace cardcage {
namespace {

struct WriteCall {
  wire::Request& to;
  void operator()(const StartCall& call) const {
    wire::Start& start = *to.mutable_start();
    write(call.options, *start.mutable_options());
    start.set_sysfs(call.roots.sysfs.native());
    start.set_procfs(call.roots.procfs.native());
    start.set_devfs(call.roots.devfs.native());
    start.set_driver_root(call.roots.driver.native());
  }
  void operator()(const ConfigureCall& call) const { write(call.options, *to.mutable_configure()->mutable_options()); }
  void operator()(const DiscoverCall&) const { to.mutable_discover(); }
  void operator()(const PrepareCall& call) const { put(call, *to.mutable_prepare()); }
  void operator()(const UnprepareCall& call) const { put(call, *to.mutable_unprepare()); }
  void operator()(const BindCall& call) const { put(call, *to.mutable_bind()); }
  void operator()(const AttachCall& call) const {
    put(call, *to.mutable_attach());
    put(call.pod);
  }
  void operator()(const DetachCall& call) const {
    put(call, *to.mutable_detach());
    put(call.pod);
  }
  void operator()(const ReconcileCall&) const { to.mutable_reconcile(); }
  void operator()(const ChooseCall& call) const {
    write(call.available, *to.mutable_choose()->mutable_available());
    write(call.required, *to.mutable_choose()->mutable_required());
    to.mutable_choose()->set_want(call.want);
  }
  void operator()(const PreStartCall& call) const { put(call, *to.mutable_pre_start()); }
  void operator()(const CheckCall& call) const { write(call.device_ids, *to.mutable_check()->mutable_texts()); }
  void operator()(const ResetCall& call) const { to.set_reset(call.device_id); }
  void operator()(const CollectMetricsCall&) const { to.mutable_collect_metrics(); }
  void operator()(const CollectLabelsCall&) const { to.mutable_collect_labels(); }
  void operator()(const CollectCatalogueCall&) const { to.mutable_collect_catalogue(); }
  void operator()(const EventsCall& call) const { write(call.batch, *to.mutable_events()); }
  void operator()(const QuiesceCall&) const { to.mutable_quiesce(); }
  void operator()(const ResumeCall&) const { to.mutable_resume(); }
  void operator()(const QuiesceDeviceCall& call) const { to.set_quiesce_device(call.device_id); }
  void operator()(const ResumeDeviceCall& call) const { to.set_resume_device(call.device_id); }
  void operator()(const StopCall&) const { to.mutable_stop(); }

 private:
  template <class ClaimCall>
  void put(const ClaimCall& call, wire::Claim& claim) const {
    write(call.claim, claim);
    to.set_attempt(call.attempt);
  }
  void put(const SandboxedPod& pod) const {
    to.mutable_pod()->set_uid(pod.uid);
    to.mutable_pod()->set_name_space(pod.name_space);
    to.mutable_pod()->set_name(pod.name);
    to.mutable_pod()->set_network_namespace_path(pod.network_namespace_path);
  }
};

}  // namespace

static SandboxedPod read(const wire::Pod& from) {
  return {.uid = from.uid(),
          .name_space = from.name_space(),
          .name = from.name(),
          .network_namespace = {},
          .route_socket = {},
          .network_namespace_path = from.network_namespace_path()};
}

void write(const ModuleCall& from, wire::Request& to) { std::visit(WriteCall{to}, from); }

std::optional<ModuleCall> read_call(const wire::Request& from) {
  switch (from.what_case()) {
    case wire::Request::kStart:
      return StartCall(read(from.start().options()),
                       {from.start().sysfs(), from.start().procfs(), from.start().devfs(), from.start().driver_root()});
    case wire::Request::kConfigure: return ConfigureCall(read(from.configure().options()));
    case wire::Request::kDiscover: return DiscoverCall();
    case wire::Request::kPrepare: return PrepareCall(read(from.prepare()), from.attempt());
    case wire::Request::kUnprepare: return UnprepareCall(read(from.unprepare()), from.attempt());
    case wire::Request::kBind: return BindCall(read(from.bind()), from.attempt());
    case wire::Request::kAttach: return AttachCall(read(from.attach()), read(from.pod()), from.attempt());
    case wire::Request::kDetach: return DetachCall(read(from.detach()), read(from.pod()), from.attempt());
    case wire::Request::kReconcile: return ReconcileCall();
    case wire::Request::kChoose:
      return ChooseCall(read(from.choose().available()), read(from.choose().required()), from.choose().want());
    case wire::Request::kPreStart: return PreStartCall(read(from.pre_start()), from.attempt());
    case wire::Request::kCheck: return CheckCall(read(from.check().texts()));
    case wire::Request::kReset: return ResetCall(from.reset());
    case wire::Request::kCollectMetrics: return CollectMetricsCall();
    case wire::Request::kCollectLabels: return CollectLabelsCall();
    case wire::Request::kCollectCatalogue: return CollectCatalogueCall();
    case wire::Request::kEvents: return EventsCall(read(from.events()));
    case wire::Request::kQuiesce: return QuiesceCall();
    case wire::Request::kResume: return ResumeCall();
    case wire::Request::kQuiesceDevice: return QuiesceDeviceCall(from.quiesce_device());
    case wire::Request::kResumeDevice: return ResumeDeviceCall(from.resume_device());
    case wire::Request::kStop: return StopCall();
    default: return std::nullopt;
  }
}

Descriptors descriptors_of(const ModuleCall& call) {
  const SandboxedPod* const pod = pod_of(call);
  return pod != nullptr ? Descriptors{pod->network_namespace, pod->route_socket} : Descriptors();
}

Status take_descriptors(Descriptors descriptors, ModuleCall& call) {
  SandboxedPod* const pod = pod_of(call);
  const std::size_t expected = pod != nullptr ? 2 : 0;
  if (descriptors.size() != expected)
    return fail(Code::kInternal, "{} descriptors came with a call that needs {}", descriptors.size(), expected);
  if (pod != nullptr) {
    pod->network_namespace = std::move(descriptors[0]);
    pod->route_socket = std::move(descriptors[1]);
  }
  return {};
}

void write(const ModuleReply& from, wire::Answer& to) {
  if (const auto* edits = std::get_if<PreparedEdits>(&from)) write(*edits, *to.mutable_edits());
  if (const auto* progress = std::get_if<BindProgress>(&from)) write(*progress, *to.mutable_bound());
  if (const auto* chosen = std::get_if<std::vector<std::string>>(&from))
    write(*chosen, *to.mutable_chosen()->mutable_texts());
  if (const auto* checked = std::get_if<std::size_t>(&from)) to.set_checked(*checked);
  if (const auto* labels = std::get_if<NodeLabels>(&from)) write(*labels, *to.mutable_labels());
}

void ReplyReader::take(const wire::Answer& part) {
  for (const wire::Device& in : part.snapshot().devices()) {
    auto device = read(in);
    if (device)
      snapshot_.devices.push_back(std::move(*device));
    else if (!broken_)
      broken_ = device.error();
  }
  for (const wire::CounterSet& set : part.snapshot().counter_sets())
    snapshot_.counter_sets[set.name()] = read(set.counters());
  for (const wire::LeftOutDevice& device : part.snapshot().left_out())
    if (snapshot_.left_out.size() < kMaxLeftOut) snapshot_.left_out.try_emplace(device.id(), device.why());
  for (const wire::LeftOutDevice& device : part.snapshot().not_offered())
    if (snapshot_.not_offered.size() < kMaxNotOffered)
      snapshot_.not_offered.try_emplace(printable(device.id(), kMaxNotOfferedName),
                                        printable(device.why(), kMaxNotOfferedReason));
  if (part.has_samples()) read(part.samples(), samples_);
  if (const Status added = read(part.catalogue(), catalogue_); !added && !broken_) broken_ = added.error();
}

Result<ModuleReply> ReplyReader::finish(const wire::Answer& last) {
  switch (request_) {
    case wire::Request::kDiscover:
      take(last);
      if (broken_) return std::unexpected(*broken_);
      return SnapshotPtr(std::make_shared<const Snapshot>(std::move(snapshot_)));
    case wire::Request::kCollectMetrics:
      take(last);
      return MetricSamplesPtr(std::make_shared<const MetricSamples>(std::move(samples_)));
    case wire::Request::kCollectCatalogue:
      take(last);
      if (broken_) return std::unexpected(*broken_);
      return ModuleReply(std::move(catalogue_));
    case wire::Request::kCollectLabels: return ModuleReply(read(last.labels()));
    case wire::Request::kChoose: return ModuleReply(read(last.chosen().texts()));
    case wire::Request::kCheck:
      if (last.checked() > devices_)
        return fail(Code::kInternal, "its worker has checked {} devices of {}", last.checked(), devices_);
      return ModuleReply(std::size_t{last.checked()});
    case wire::Request::kPrepare: {
      PreparedEdits edits = read(last.edits());
      if (edits.allocations.size() != devices_)
        return fail(Code::kInternal, "its worker answered for {} devices of {}", edits.allocations.size(), devices_);
      return ModuleReply(std::move(edits));
    }
    case wire::Request::kBind: {
      BindProgress progress = read(last.bound());
      if (progress.size() != devices_)
        return fail(Code::kInternal, "its worker answered for {} devices of {}", progress.size(), devices_);
      return ModuleReply(std::move(progress));
    }
    default: return ModuleReply();
  }
}

}  // namespace cardcage
