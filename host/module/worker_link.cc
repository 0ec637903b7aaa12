#include "host/module/worker_link.h"

#include <fmt/ranges.h>

#include <limits>

#include "host/core/log.h"
#include "host/instance/host_services.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

// Size of all parts of one answer: the largest snapshot that a sink takes, with room for its names.
constexpr std::size_t kMaxAnswer = 128u << 20;
constexpr std::size_t kLastPrinted = 5;
constexpr std::size_t kMaxLine = 2048;
// Long, because each ping wakes the daemon and the worker.
constexpr std::chrono::seconds kPingInterval{10};
constexpr std::uint64_t kPingNumber = std::numeric_limits<std::uint64_t>::max();  // never a call's number

}  // namespace

Result<std::unique_ptr<WorkerLink>> WorkerLink::start(asio::io_context& core, Clock& clock, std::string module,
                                                      const WorkerProcess::Program& program, int image) {
  std::unique_ptr<WorkerLink> link(new WorkerLink(core, clock, std::move(module)));
  auto process =
      WorkerProcess::start(core, program, image,
                           {.report = [link = link.get()](const wire::Report& report) { link->take_report(report); },
                            .printed = [link = link.get()](const std::string& line) { link->note_printed(line); },
                            .ended = [link = link.get()](const std::string& how) { link->end(how); }});
  if (!process) return within(process.error(), "module '{}'", link->module_);
  link->process_ = std::move(*process);
  spawn(core, send_pings(link->pings_, clock));
  return link;
}

WorkerLink::~WorkerLink() {
  pings_->link = nullptr;
  pings_->changed.wake();
  if (process_) process_->close();
}

Task<void> WorkerLink::send_pings(std::shared_ptr<Pings> pings, Clock& clock) {
  for (;;) {
    const Instant due = clock.now() + kPingInterval;
    co_await pings->changed.wait_until(clock, due);
    WorkerLink* const link = pings->link;
    if (link == nullptr || link->has_ended()) co_return;
    // If the daemon was held up or the machine slept, the answer may have arrived unread.
    const bool in_time = clock.now() - due < kPingInterval;
    if (pings->unanswered && in_time && link->spare_traced()) continue;
    if (pings->unanswered && in_time) {
      link->why_killed_ =
          fmt::format("did not answer a ping for {} s, being stopped or starved, and ", kPingInterval.count());
      link->kill();
      co_return;
    }
    if (pings->unanswered) continue;
    wire::Request request;
    request.mutable_ping();
    pings->unanswered = link->tell(kPingNumber, std::move(request)).has_value();
  }
}

bool WorkerLink::spare_traced() {
  if (!is_traced(process_->child()->pid()))
    return std::exchange(traced_, false);  // gives the worker time to answer again
  if (!std::exchange(traced_, true))
    log(LogLevel::kWarn, "worker does not answer and is not killed while a debugger is attached",
        {{"module", module_}, {"pid", process_->child()->pid()}});
  return true;
}

Status WorkerLink::call(std::uint64_t number, wire::Request request, Descriptors descriptors,
                        std::function<void(const wire::Answer&)> answered) {
  auto told = tell(number, std::move(request), std::move(descriptors));
  if (told) open_[number] = {std::move(answered), 0};
  return told;
}

Status WorkerLink::tell(std::uint64_t number, wire::Request request, Descriptors descriptors) {
  request.set_call(number);
  return process_->send(std::move(request), std::move(descriptors));
}

void WorkerLink::take_report(const wire::Report& report) {
  switch (report.what_case()) {
    case wire::Report::kAnswer: return take_answer(report.answer());
    case wire::Report::kLog: return log_line(report.log());
    default:
      if (listener_.reported) listener_.reported(report);
  }
}

void WorkerLink::take_answer(const wire::Answer& answer) {
  if (answer.call() == kPingNumber) pings_->unanswered = traced_ = false;
  const auto found = open_.find(answer.call());
  if (found == open_.end()) return;
  Open& open = found->second;
  open.size += answer.ByteSizeLong();
  if (open.size > kMaxAnswer) {
    log(LogLevel::kError, "worker killed: its answer is too long", {{"module", module_}});
    return kill();
  }
  if (answer.partial()) return open.answered(answer);
  const auto answered = std::move(open.answered);
  open_.erase(found);
  answered(answer);
}

// The worker bounds the lines of the module, but not its own lines about dropped output.
void WorkerLink::log_line(const wire::LogLine& line) {
  const LineBudget::Verdict verdict = log_budget_.take(clock_.now());
  if (verdict.left_out > 0)
    log_limited(LogLevel::kWarn, module_ + "/lines", "module logs too much; lines are left out",
                {{"module", module_}, {"lines", verdict.left_out}, {"rule", "Limits"}});
  if (!verdict.write) return;
  std::string text = printable_lines(line.text(), kMaxLine), rule;
  for (int i = 0; i + 1 < line.fields_size(); i += 2) {
    std::string value = printable(line.fields(i + 1), kMaxLine);
    if (line.fields(i) == "rule")
      rule = std::move(value);
    else if (line.fields(i) != "module")
      text += fmt::format(" {}={}", printable(line.fields(i), kMaxLine), value);
  }
  last_lines_.add(text);
  if (rule.empty()) return log(log_level_of(line.level()), text, {{"module", module_}});
  log(log_level_of(line.level()), text, {{"module", module_}, {"rule", std::move(rule)}});
}

void WorkerLink::note_printed(const std::string& line) {
  last_printed_.push_back(printable(line, kMaxLine));
  if (last_printed_.size() > kLastPrinted) last_printed_.pop_front();
  last_lines_.add("printed: " + last_printed_.back());
  const LineBudget::Verdict verdict = print_budget_.take(clock_.now());
  if (verdict.left_out > 0)
    log_limited(LogLevel::kWarn, module_ + "/printed", "module prints too much; lines are left out",
                {{"module", module_}, {"lines", verdict.left_out}});
  if (verdict.write) log(LogLevel::kWarn, "printed: " + last_printed_.back(), {{"module", module_}});
}

void WorkerLink::end(const std::string& how) {
  open_.clear();
  over_.set(true);
  std::string why = why_killed_ + how;
  if (!last_printed_.empty()) why += fmt::format("; it printed last: '{}'", fmt::join(last_printed_, " | "));
  if (listener_.ended) listener_.ended(why);
}

}  // namespace cardcage
