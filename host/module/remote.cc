#include "host/module/remote.h"

#include "host/core/timestamp.h"
#include "host/instance/call_context.h"
#include "host/model/text_rules.h"
#include "host/wire/asks.h"

namespace cardcage {

// Counts the devices in the worker's reply.
static std::size_t devices_in(const wire::Request& request) {
  switch (request.what_case()) {
    case wire::Request::kCheck: return static_cast<std::size_t>(request.check().texts_size());
    case wire::Request::kPrepare: return static_cast<std::size_t>(request.prepare().allocations_size());
    case wire::Request::kBind: return static_cast<std::size_t>(request.bind().allocations_size());
    default: return 0;
  }
}

Leftover leftover_of(std::string module, std::shared_ptr<ChildProcess> worker) {
  return [name = std::move(module), child = std::move(worker)] { return child->survivor("the worker", name); };
}

RemoteModule::RemoteModule(asio::io_context& core, Clock& clock, std::unique_ptr<WorkerLink> link, Parts parts)
    : RunningModule(core, clock, std::move(parts)), link_(std::move(link)) {
  link_->listen({.reported = [this](const wire::Report& report) { take(report); },
                 .ended =
                     [this](const std::string& how) {
                       lose({Code::kUnavailable, fmt::format("module '{}' is gone: its worker {}", name(), how)});
                     }});
}

void RemoteModule::take(const wire::Report& report) {
  switch (report.what_case()) {
    case wire::Report::kHealth:
      if (const wire::Health& health = report.health(); events().health && is_device_id(health.device_id()))
        events().health(health.device_id(), read(health));
      return;
    case wire::Report::kRescan:
      if (events().rescan) events().rescan();
      return;
    case wire::Report::kDescriptor:
      if (events().descriptor) events().descriptor(report.descriptor());
      return;
    case wire::Report::kProgress: {
      const wire::Progress& told = report.progress();
      Progress progress{.percent = {}, .text = printable(told.text(), kMaxProgressText)};
      if (told.has_percent()) progress.percent = told.percent();
      return note_progress(told.call(), std::move(progress));
    }
    case wire::Report::kAsk: return take_ask(report.ask());
    default: return;
  }
}

void RemoteModule::take_ask(const wire::Ask& ask) {
  auto wanted = read(ask);
  if (!wanted || !link_->is_open(ask.call())) return;
  answer(ask.call(), std::move(*wanted),
         [this, call = ask.call(), number = ask.number()](const Result<AskReply>& reply) {
           wire::Request request;
           write(reply, number, *request.mutable_told());
           std::ignore = link_->tell(call, std::move(request));
         });
}

Leftover RemoteModule::leftover() const {
  return [worker = leftover_of(name(), link_->process().child()), programs = programs()]() {
    const auto left = worker();
    return left ? left : programs->survivor();
  };
}

Status RemoteModule::begin(std::uint64_t number, ModuleCall call, Instant deadline) {
  if (const auto* reconcile = std::get_if<ReconcileCall>(&call))
    if (auto sent = send_live_claims(number, reconcile->live); !sent) return sent;
  wire::Request request;
  write(call, request);
  if (deadline != Instant::max())
    request.set_deadline_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch()).count());
  const auto asked = request.what_case();
  const auto reader = std::make_shared<ReplyReader>(asked, devices_in(request));
  return link_->call(number, std::move(request), descriptors_of(call),
                     [this, number, reader, what = name_of(call)](const wire::Answer& answer) {
                       if (answer.partial()) return reader->take(answer);
                       if (answer.code() != 0)
                         return close_call(number, fail(static_cast<Code>(answer.code()), "{}", answer.message()));
                       auto reply = reader->finish(answer);
                       if (!reply) reply = within(reply.error(), "module '{}' cannot {}", name(), what);
                       close_call(number, std::move(reply));
                     });
}

Status RemoteModule::send_live_claims(std::uint64_t number, const std::vector<ModuleClaim>& live) {
  for (const ModuleClaim& claim : live) {
    wire::Request part;
    write(claim, *part.mutable_live_claim());
    if (auto sent = link_->tell(number, std::move(part)); !sent) return sent;
  }
  return {};
}

bool RemoteModule::cancel(std::uint64_t number) {
  wire::Request request;
  request.mutable_cancel();
  std::ignore = link_->tell(number, std::move(request));
  return link_->is_open(number);
}

bool RemoteModule::is_traced() const { return cardcage::is_traced(link_->process().child()->pid()); }

Error RemoteModule::give_up(const OpenCall& call) {
  link_->kill();
  return {Code::kUnavailable, fmt::format("module '{}' was stuck in {} since {}: its worker (pid {}) was killed",
                                          name(), call.what, timestamp(call.since), link_->process().child()->pid())};
}

// Waits until the worker has exited: otherwise it would hold the hardware while its successor takes it.
Task<void> RemoteModule::tear_down(Instant deadline) {
  link_->kill();
  const auto limit = std::max(deadline, clock().now() + std::chrono::seconds(1));
  if (!link_->has_ended()) co_await link_->over().wait_until(clock(), limit);
}

}  // namespace cardcage
