#include "host/worker/bridge.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "host/core/version.h"
#include "host/wire/frame.h"

namespace cardcage {
namespace {

// Far below the limit of a frame, however large a device is.
constexpr int kDevicesPerPart = 256;

Instant deadline_of(const wire::Request& request) {
  return request.deadline_ns() == 0 ? Instant::max() : Instant(std::chrono::nanoseconds(request.deadline_ns()));
}

}  // namespace

void ReportStream::send(const wire::Report& report) {
  auto frame = encode_frame(report);
  if (!frame) return answer(report.answer().call(), within(frame.error(), "its answer"));
  const std::lock_guard lock(mutex_);
  for (std::string_view rest = *frame; !rest.empty();) {
    const ssize_t sent = ::write(socket_, rest.data(), rest.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      std::perror("cardcage-worker: cannot answer the daemon");
      ::_exit(EXIT_FAILURE);
    }
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void ReportStream::answer(std::uint64_t call, const Status& outcome, wire::Answer content) {
  wire::Report report;
  *report.mutable_answer() = std::move(content);
  report.mutable_answer()->set_call(call);
  if (!outcome) {
    report.mutable_answer()->set_code(static_cast<std::uint32_t>(outcome.error().code));
    report.mutable_answer()->set_message(outcome.error().message);
  }
  send(report);
}

template <class Work>
void Bridge::run(std::string what, const wire::Request& request, Work work) {
  const auto call = std::make_shared<CallContext>(std::move(what), request.call(), deadline_of(request));
  {
    const std::lock_guard lock(mutex_);
    calls_[call->number()] = call;
  }
  inbox_.post([this, call, work = std::move(work)]() mutable {
    if (!call->begin()) return;
    wire::Answer answer;
    Status outcome;
    if (!instance_)
      outcome = fail(Code::kFailedPrecondition, "module '{}' cannot {}: it is not started", name_, call->what());
    else
      outcome = work(*instance_, *call, answer);
    call->end();
    {
      const std::lock_guard lock(mutex_);
      calls_.erase(call->number());
    }
    out_.answer(call->number(), outcome, std::move(answer));
  });
}

void Bridge::take(wire::Request request) {
  const std::uint64_t number = request.call();
  switch (request.what_case()) {
    case wire::Request::kLoad:
      name_ = request.load().module();
      return inbox_.post([this, number, wanted = std::move(*request.mutable_load())] {
        wire::Answer answer;
        const Status outcome = load(wanted, answer);
        out_.answer(number, outcome, std::move(answer));
      });
    case wire::Request::kStart: return take_start(request);
    case wire::Request::kDiscover:
      return run("discover", request, [this](Instance&, CallContext& call, wire::Answer&) { return discover(call); });
    case wire::Request::kPrepare:
      return run("prepare", request,
                 [claim = read(request.prepare())](Instance& instance, CallContext& call, wire::Answer& answer) {
                   const auto edits = instance.prepare(call, claim);
                   if (!edits) return Status(std::unexpected(edits.error()));
                   write(*edits, *answer.mutable_edits());
                   return Status();
                 });
    case wire::Request::kUnprepare:
      return run("unprepare", request,
                 [claim = read(request.unprepare())](Instance& instance, CallContext& call, wire::Answer&) {
                   return instance.unprepare(call, claim);
                 });
    case wire::Request::kLiveClaim: return live_.push_back(read(request.live_claim()));
    case wire::Request::kReconcile:
      return run("reconcile", request,
                 [live = std::exchange(live_, {})](Instance& instance, CallContext& call, wire::Answer&) {
                   return instance.reconcile(call, live);
                 });
    case wire::Request::kChoose: return take_choose(request);
    case wire::Request::kPreStart:
      return run("pre_start", request,
                 [claim = read(request.pre_start())](Instance& instance, CallContext& call, wire::Answer&) {
                   return instance.pre_start(call, claim);
                 });
    case wire::Request::kCheck:
      return run("check", request, [id = request.check()](Instance& instance, CallContext& call, wire::Answer&) {
        return instance.check(call, id);
      });
    case wire::Request::kQuiesce:
      return run("quiesce", request,
                 [](Instance& instance, CallContext& call, wire::Answer&) { return instance.quiesce(call); });
    case wire::Request::kResume:
      return run("resume", request,
                 [](Instance& instance, CallContext& call, wire::Answer&) { return instance.resume(call); });
    case wire::Request::kStop:
      return run("stop", request,
                 [](Instance& instance, CallContext& call, wire::Answer&) { return instance.stop(call); });
    case wire::Request::kCancel: return cancel(number);
    case wire::Request::kPing: return out_.answer(number, {});
    case wire::Request::WHAT_NOT_SET: return;
  }
}

void Bridge::take_start(const wire::Request& request) {
  inbox_.post([this, options = read(request.start().options())] {
    if (!loaded_) return;  // the run that follows says so
    instance_ = std::make_unique<Instance>(name_, std::move(loaded_->module), std::move(loaded_->identity), options,
                                           [this] { send_news(); });
    loaded_.reset();
  });
  run("start", request, [](Instance& instance, CallContext& call, wire::Answer&) { return instance.start(call); });
}

void Bridge::take_choose(const wire::Request& request) {
  const wire::Choice& wanted = request.choose();
  run("choose", request,
      [available = read(wanted.available()), required = read(wanted.required()), want = wanted.want()](
          Instance& instance, CallContext& call, wire::Answer& answer) {
        const auto chosen = instance.choose(call, available, required, want);
        if (!chosen) return Status(std::unexpected(chosen.error()));
        write(*chosen, *answer.mutable_chosen()->mutable_texts());
        return Status();
      });
}

Status Bridge::load(const wire::Load& wanted, wire::Answer& answer) {
  if (wanted.build() != version())
    return fail(Code::kFailedPrecondition,
                "module '{}': the worker is of build {} and the daemon of {}: install both of one release", name_,
                version(), wanted.build());
  StagedModule staged;
  staged.path = wanted.path();
  staged.sha256 = wanted.sha256();
  staged.elf.run_path = wanted.run_path();
  staged.image = std::move(image_);
  auto loaded = load_identified(name_, std::move(staged));
  if (!loaded) return std::unexpected(loaded.error());
  write(loaded->identity, *answer.mutable_identity());
  loaded_.emplace(std::move(*loaded));
  return {};
}

Status Bridge::discover(CallContext& call) {
  const auto snapshot = instance_->discover(call);
  if (!snapshot) return std::unexpected(snapshot.error());
  wire::Report report;
  const auto send_part = [&] {
    report.mutable_answer()->set_call(call.number());
    report.mutable_answer()->set_partial(true);
    out_.send(report);
    report.Clear();
  };
  for (const auto& [name, counters] : snapshot->counter_sets) {
    write(name, counters, *report.mutable_answer()->mutable_snapshot()->add_counter_sets());
    if (report.answer().snapshot().counter_sets_size() == kDevicesPerPart) send_part();
  }
  send_part();
  for (const Device& device : snapshot->devices) {
    write(device, *report.mutable_answer()->mutable_snapshot()->add_devices());
    if (report.answer().snapshot().devices_size() == kDevicesPerPart) send_part();
  }
  send_part();
  return {};
}

void Bridge::cancel(std::uint64_t number) {
  Call call;
  {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(number);
    if (found == calls_.end()) return;
    call = found->second;
  }
  call->cancel();
  if (!call->abandon()) return;
  {
    const std::lock_guard lock(mutex_);
    calls_.erase(number);
  }
  out_.answer(number, fail(Code::kCancelled, "module '{}' cannot {}: the call was cancelled", name_, call->what()));
}

void Bridge::send_news() {
  const ModuleNews news = instance_->services().take();
  for (const auto& [device_id, health] : news.health) {
    wire::Report report;
    write(device_id, health, *report.mutable_health());
    out_.send(report);
  }
  if (!news.rescan) return;
  wire::Report report;
  report.mutable_rescan();
  out_.send(report);
}

}  // namespace cardcage
