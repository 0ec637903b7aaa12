#include "host/worker/bridge.h"

#include "host/core/file.h"
#include "host/core/memory.h"
#include "host/core/version.h"
#include "host/instance/declarations.h"
#include "host/wire/frame.h"
#include "host/worker/exit.h"

namespace cardcage {
namespace {

// Keeps a part far below the limit of a frame, however large its devices are, and limits the work of the daemon's core
// to a few milliseconds.
constexpr int kDevicesPerPart = 64, kEntriesPerPart = 64, kSamplesPerPart = 512;

Instant deadline_of(const wire::Request& request) {
  return request.deadline_ns() == 0 ? Instant::max() : Instant(std::chrono::nanoseconds(request.deadline_ns()));
}

}  // namespace

void ReportStream::send(const wire::Report& report) {
  auto frame = encode_frame(report);
  if (!frame) return answer(report.answer().call(), within(frame.error(), "its answer"));
  const std::lock_guard lock(mutex_);
  if (!write_all(socket_, *frame)) exit_with_errno("cannot write to the daemon");
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

void Bridge::take(wire::Request request, Descriptors descriptors) {
  const std::uint64_t number = request.call();
  switch (request.what_case()) {
    case wire::Request::kLoad: return take_load(number, std::move(*request.mutable_load()));
    case wire::Request::kLiveClaim: return take_live_claim(number, read(request.live_claim()));
    case wire::Request::kCancel: return cancel(number);
    case wire::Request::kPing: return out_.answer(number, {});
    case wire::Request::kTold: return take_told(request.told());
    default: return take_call(request, std::move(descriptors));
  }
}

void Bridge::take_load(std::uint64_t number, wire::Load wanted) {
  name_ = wanted.module();
  inbox_.post([this, number, wanted = std::move(wanted)] {
    const auto identity = load(wanted);
    if (!identity) return out_.answer(number, std::unexpected(identity.error()));
    wire::Answer answer;
    write(*identity, *answer.mutable_identity());
    out_.answer(number, {}, std::move(answer));
    release_startup_memory();
  });
}

Result<ModuleIdentity> Bridge::load(const wire::Load& wanted) {
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
  Asks::Channel channel{
      .send = [this](std::uint64_t ask, std::uint64_t call, const ModuleAsk& what) { send_ask(ask, call, what); },
      .attend = [this](const std::function<bool()>& answered) { inbox_.attend(answered); }};
  instance_ = std::make_unique<Instance>(
      name_, std::move(loaded->module), loaded->identity, [this] { send_news(); }, std::move(channel));
  if (loaded->identity.concurrent) {
    const std::lock_guard lock(mutex_);
    claim_lanes_ = std::make_unique<LanePool>(kClaimThread);
  }
  return std::move(loaded->identity);
}

void Bridge::send_ask(std::uint64_t number, std::uint64_t call, const ModuleAsk& ask) {
  wire::Report report;
  write(ask, number, call, *report.mutable_ask());
  out_.send(report);
}

void Bridge::take_told(const wire::Told& told) { instance_->asks().answer(told.number(), read(told)); }

// Drops the claims of a reconcile that the daemon could not send to its end.
void Bridge::take_live_claim(std::uint64_t number, ModuleClaim claim) {
  if (std::exchange(live_call_, number) != number) live_.clear();
  live_.push_back(std::move(claim));
}

void Bridge::take_call(const wire::Request& request, Descriptors descriptors) {
  auto call = read_call(request);
  if (!call) return;
  const std::uint64_t number = request.call();
  if (const Status taken = take_descriptors(std::move(descriptors), *call); !taken) return out_.answer(number, taken);
  if (auto* reconcile = std::get_if<ReconcileCall>(&*call))
    if (live_call_ == number) reconcile->live = std::exchange(live_, {});
  const auto context =
      std::make_shared<CallContext>(std::string(name_of(*call)), number, deadline_of(request), attempt_of(*call));
  const bool for_claim = claim_of(*call) != nullptr;
  Lane::Job job = [this, context, call = std::move(*call)] { execute(context, call); };
  const std::lock_guard lock(mutex_);
  contexts_[number] = context;
  if (!claim_lanes_ || !for_claim) return inbox_.post(std::move(job));
  if (const Status posted = claim_lanes_->post(std::move(job)); !posted) {
    contexts_.erase(number);
    out_.answer(number, posted);
  }
}

void Bridge::execute(const Context& context, const ModuleCall& call) {
  const std::uint64_t number = context->number();
  if (!context->begin()) return;
  auto reply = instance_ != nullptr
                   ? instance_->execute(*context, call)
                   : fail(Code::kFailedPrecondition, "module '{}' cannot {}: it is not loaded", name_, name_of(call));
  context->end();
  {
    const std::lock_guard lock(mutex_);
    contexts_.erase(number);
  }
  if (!reply) return out_.answer(number, std::unexpected(std::move(reply.error())));
  if (const auto* snapshot = std::get_if<SnapshotPtr>(&*reply)) send_snapshot(number, **snapshot);
  if (const auto* samples = std::get_if<MetricSamplesPtr>(&*reply)) send_samples(number, **samples);
  if (const auto* catalogue = std::get_if<Catalogue>(&*reply)) send_catalogue(number, *catalogue);
  wire::Answer answer;
  write(*reply, answer);
  out_.answer(number, {}, std::move(answer));
}

void Bridge::send_part(std::uint64_t number, wire::Report& part) {
  part.mutable_answer()->set_call(number);
  part.mutable_answer()->set_partial(true);
  out_.send(part);
  part.Clear();
}

void Bridge::send_snapshot(std::uint64_t number, const Snapshot& snapshot) {
  wire::Report report;
  const auto add = [](const auto& reasons, auto& list) {
    for (const auto& [id, why] : reasons) {
      wire::LeftOutDevice& device = *list.Add();
      device.set_id(id);
      device.set_why(why);
    }
  };
  wire::SnapshotPart& first = *report.mutable_answer()->mutable_snapshot();
  add(snapshot.left_out, *first.mutable_left_out());
  add(snapshot.not_offered, *first.mutable_not_offered());
  for (const auto& [name, counters] : snapshot.counter_sets) {
    write(name, counters, *report.mutable_answer()->mutable_snapshot()->add_counter_sets());
    if (report.answer().snapshot().counter_sets_size() == kDevicesPerPart) send_part(number, report);
  }
  send_part(number, report);
  for (const Device& device : snapshot.devices) {
    write(device, *report.mutable_answer()->mutable_snapshot()->add_devices());
    if (report.answer().snapshot().devices_size() == kDevicesPerPart) send_part(number, report);
  }
  send_part(number, report);
}

void Bridge::send_samples(std::uint64_t number, const MetricSamples& samples) {
  wire::Report report;
  write(samples.left_out, *report.mutable_answer()->mutable_samples()->mutable_left_out());
  for (const MetricSample& sample : samples.samples) {
    write(sample, *report.mutable_answer()->mutable_samples()->add_samples());
    if (report.answer().samples().samples_size() == kSamplesPerPart) send_part(number, report);
  }
  send_part(number, report);
}

void Bridge::send_catalogue(std::uint64_t number, const Catalogue& catalogue) {
  wire::Report report;
  write(catalogue.left_out, *report.mutable_answer()->mutable_catalogue()->mutable_left_out());
  for (const CatalogueEntry& entry : catalogue.entries) {
    write(entry, *report.mutable_answer()->mutable_catalogue()->add_entries());
    if (report.answer().catalogue().entries_size() == kEntriesPerPart) send_part(number, report);
  }
  send_part(number, report);
}

void Bridge::cancel(std::uint64_t number) {
  Context context;
  {
    const std::lock_guard lock(mutex_);
    const auto found = contexts_.find(number);
    if (found == contexts_.end()) return;
    context = found->second;
  }
  context->cancel();
  if (!context->abandon()) return;
  {
    const std::lock_guard lock(mutex_);
    contexts_.erase(number);
  }
  out_.answer(number, fail(Code::kCancelled, "module '{}' cannot {}: the call was cancelled", name_, context->what()));
}

void Bridge::send_news() {
  const ModuleNews news = instance_->services().take();
  for (const auto& [device_id, statements] : news.health) {
    for (const auto& [cause, health] : statements) {
      wire::Report report;
      write(device_id, health, *report.mutable_health());
      out_.send(report);
    }
  }
  for (const auto& [call, progress] : news.progress) {
    wire::Report report;
    wire::Progress& out = *report.mutable_progress();
    out.set_call(call);
    if (progress.percent) out.set_percent(*progress.percent);
    out.set_text(progress.text);
    out_.send(report);
  }
  for (const std::int32_t descriptor : news.descriptors) {
    wire::Report report;
    report.set_descriptor(descriptor);
    out_.send(report);
  }
  if (!news.rescan) return;
  wire::Report report;
  report.mutable_rescan();
  out_.send(report);
}

}  // namespace cardcage
