#include "host/module/worker_link.h"

#include <fmt/ranges.h>

#include <limits>

#include "host/core/log.h"
#include "host/instance/host_services.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

// All parts of one answer: the largest snapshot that a sink takes, with room for its names.
constexpr std::size_t kMaxAnswer = 128u << 20;
constexpr std::size_t kLastPrinted = 5;
constexpr std::size_t kMaxLine = 2048;
// Seldom, since each wakes the daemon and the worker. No call has this number.
constexpr std::chrono::seconds kPing{10};
constexpr std::uint64_t kPingNumber = std::numeric_limits<std::uint64_t>::max();

}  // namespace

Result<std::unique_ptr<WorkerLink>> WorkerLink::start(asio::io_context& core, Clock& clock, std::string module,
                                                      const WorkerProcess::Program& program, int image) {
  std::unique_ptr<WorkerLink> link(new WorkerLink(core, std::move(module)));
  auto process =
      WorkerProcess::start(core, program, image,
                           {.report = [link = link.get()](const wire::Report& report) { link->hear(report); },
                            .printed = [link = link.get()](const std::string& line) { link->note_printed(line); },
                            .ended = [link = link.get()](const std::string& how) { link->end(how); }});
  if (!process) return within(process.error(), "module '{}'", link->module_);
  link->process_ = std::move(*process);
  spawn(core, ping_now_and_then(link->self_, link->pings_end_, clock));
  return link;
}

WorkerLink::~WorkerLink() { pings_end_->wake(); }

Task<void> WorkerLink::ping_now_and_then(std::weak_ptr<WorkerLink*> weak, std::shared_ptr<Wakeup> end, Clock& clock) {
  for (;;) {
    const Instant due = clock.now() + kPing;
    co_await end->wait_until(clock, due);
    const auto self = weak.lock();
    if (!self || (*self)->has_ended()) co_return;
    WorkerLink& link = **self;
    // A daemon that itself was held up, or a machine that slept, is no judge.
    const bool in_time = clock.now() - due < kPing;
    if (link.pinged_ && in_time) {
      link.why_killed_ = fmt::format("did not answer a ping for {} s, being stopped or starved, and ", kPing.count());
      link.kill();
      co_return;
    }
    if (link.pinged_) continue;
    wire::Request request;
    request.mutable_ping();
    link.pinged_ = link.tell(kPingNumber, std::move(request)).has_value();
  }
}

Status WorkerLink::call(std::uint64_t number, wire::Request request, std::function<void(Answers)> answered) {
  auto told = tell(number, std::move(request));
  if (told) open_[number] = {std::move(answered), {}, 0};
  return told;
}

Status WorkerLink::tell(std::uint64_t number, wire::Request request) {
  request.set_call(number);
  return process_->send(request);
}

void WorkerLink::hear(const wire::Report& report) {
  switch (report.what_case()) {
    case wire::Report::kAnswer: return take(report.answer());
    case wire::Report::kHealth:
      if (listener_.health) listener_.health(report.health());
      return;
    case wire::Report::kRescan:
      if (listener_.rescan) listener_.rescan();
      return;
    case wire::Report::kLog: return log_line(report.log());
    case wire::Report::WHAT_NOT_SET: return;
  }
}

void WorkerLink::take(const wire::Answer& answer) {
  if (answer.call() == kPingNumber) pinged_ = false;
  const auto found = open_.find(answer.call());
  if (found == open_.end()) return;
  Open& open = found->second;
  open.size += answer.ByteSizeLong();
  open.answers.push_back(answer);
  if (open.size > kMaxAnswer) {
    log(LogLevel::kError, "a worker does not come to an end with its answer", {{"module", module_}});
    return kill();
  }
  if (answer.partial()) return;
  const Open whole = std::move(open);
  open_.erase(found);
  whole.answered(whole.answers);
}

// The worker bounds them, too, as long as it is itself.
void WorkerLink::log_line(const wire::LogLine& line) {
  if (!log_budget_.take()) return;
  std::string text = printable(line.text(), kMaxLine);
  for (int i = 0; i + 1 < line.fields_size(); i += 2)
    if (line.fields(i) != "module")
      text += fmt::format(" {}={}", printable(line.fields(i), kMaxLine), printable(line.fields(i + 1), kMaxLine));
  last_lines_.add(text);
  log(log_level_of(line.level()), text, {{"module", module_}});
}

void WorkerLink::note_printed(const std::string& line) {
  last_printed_.push_back(printable(line, kMaxLine));
  if (last_printed_.size() > kLastPrinted) last_printed_.pop_front();
  last_lines_.add("printed: " + last_printed_.back());
  const auto left_out = print_budget_.take();
  if (!left_out) return;
  if (*left_out > 0)
    log(LogLevel::kWarn, "module prints too much, lines were left out",
        {{"module", module_}, {"lines", std::to_string(*left_out)}});
  log(LogLevel::kWarn, "printed: " + last_printed_.back(), {{"module", module_}});
}

void WorkerLink::end(const std::string& how) {
  open_.clear();
  over_.set(true);
  std::string why = why_killed_ + how;
  if (!last_printed_.empty()) why += fmt::format("; it printed last: '{}'", fmt::join(last_printed_, " | "));
  if (listener_.ended) listener_.ended(why);
}

}  // namespace cardcage
