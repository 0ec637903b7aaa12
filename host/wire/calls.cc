#include "host/wire/calls.h"

namespace cardcage {
namespace {

struct WriteCall {
  wire::Request& to;
  void operator()(const StartCall& call) const { write(call.options, *to.mutable_start()->mutable_options()); }
  void operator()(const DiscoverCall&) const { to.mutable_discover(); }
  void operator()(const PrepareCall& call) const { write(call.claim, *to.mutable_prepare()); }
  void operator()(const UnprepareCall& call) const { write(call.claim, *to.mutable_unprepare()); }
  void operator()(const ReconcileCall&) const { to.mutable_reconcile(); }
  void operator()(const ChooseCall& call) const {
    write(call.available, *to.mutable_choose()->mutable_available());
    write(call.required, *to.mutable_choose()->mutable_required());
    to.mutable_choose()->set_want(call.want);
  }
  void operator()(const PreStartCall& call) const { write(call.claim, *to.mutable_pre_start()); }
  void operator()(const CheckCall& call) const { to.set_check(call.device_id); }
  void operator()(const QuiesceCall&) const { to.mutable_quiesce(); }
  void operator()(const ResumeCall&) const { to.mutable_resume(); }
  void operator()(const StopCall&) const { to.mutable_stop(); }
};

}  // namespace

void write(const ModuleCall& from, wire::Request& to) { std::visit(WriteCall{to}, from); }

std::optional<ModuleCall> read_call(const wire::Request& from) {
  switch (from.what_case()) {
    case wire::Request::kStart: return StartCall(read(from.start().options()));
    case wire::Request::kDiscover: return DiscoverCall();
    case wire::Request::kPrepare: return PrepareCall(read(from.prepare()));
    case wire::Request::kUnprepare: return UnprepareCall(read(from.unprepare()));
    case wire::Request::kReconcile: return ReconcileCall();
    case wire::Request::kChoose:
      return ChooseCall(read(from.choose().available()), read(from.choose().required()), from.choose().want());
    case wire::Request::kPreStart: return PreStartCall(read(from.pre_start()));
    case wire::Request::kCheck: return CheckCall(from.check());
    case wire::Request::kQuiesce: return QuiesceCall();
    case wire::Request::kResume: return ResumeCall();
    case wire::Request::kStop: return StopCall();
    default: return std::nullopt;
  }
}

void write(const ModuleReply& from, wire::Answer& to) {
  if (const auto* edits = std::get_if<PreparedEdits>(&from)) write(*edits, *to.mutable_edits());
  if (const auto* chosen = std::get_if<std::vector<std::string>>(&from))
    write(*chosen, *to.mutable_chosen()->mutable_texts());
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
}

Result<ModuleReply> ReplyReader::finish(const wire::Answer& last) {
  switch (request_) {
    case wire::Request::kDiscover:
      take(last);
      if (broken_) return std::unexpected(*broken_);
      return SnapshotPtr(std::make_shared<const Snapshot>(std::move(snapshot_)));
    case wire::Request::kChoose: return ModuleReply(read(last.chosen().texts()));
    case wire::Request::kPrepare: {
      PreparedEdits edits = read(last.edits());
      if (edits.allocations.size() != devices_)
        return fail(Code::kInternal, "its worker answered for {} devices of {}", edits.allocations.size(), devices_);
      return ModuleReply(std::move(edits));
    }
    default: return ModuleReply();
  }
}

}  // namespace cardcage
