#include "modules/nvidia/imex/daemon.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <utility>
#include <vector>

#include "modules/common/text.h"

namespace cardcage::nvidia {
namespace {

namespace json = boost::json;

constexpr std::string_view kReady = "READY";
constexpr const char* kNoDaemon = "UNAVAILABLE";  // the name that the daemon's peers see for it
constexpr const char* kProgram = "nvidia-imex-ctl";
constexpr std::chrono::seconds kAskLimit{3};
constexpr std::chrono::milliseconds kPollInterval{500};
// The daemon needs some time for the error, which says more than an expired deadline.
constexpr std::chrono::seconds kBeforeDeadline{1};
constexpr std::chrono::seconds kWaitWithoutDeadline{30};

bool is_state(std::string_view word) {
  return !word.empty() && word.size() <= 63 && word.front() != '_' && word.back() != '_' &&
         std::ranges::all_of(word, [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
}

std::string failure_of(const cage::ProgramResult& result) {
  if (result.timed_out) return "it did not end within " + std::to_string(kAskLimit.count()) + " s";
  const std::string err(hardware::trimmed(result.err)), out(hardware::trimmed(result.out));
  if (!err.empty()) return err;
  return !out.empty() ? out : "exit status " + std::to_string(result.exit_status);
}

cage::Health not_ready(const std::string& reason, const std::string& text, const std::string& state) {
  return cage::Health::bad(reason, text)
      .tainted(cage::Taint::no_schedule, std::string(kImexCauses[0].taint_key), state);
}

}  // namespace

cage::ProgramResult ImexDaemon::ask(const cage::Call& call, std::vector<std::string> arguments) const {
  if (!control_socket_.empty()) arguments.push_back("--u=" + control_socket_);
  return host_.run(call, {.name = kProgram, .arguments = std::move(arguments), .environment = {}, .limit = kAskLimit});
}

std::string ImexDaemon::state(const cage::Call& call) const {
  const cage::ProgramResult result = ask(call, {"-q"});
  std::string word(hardware::trimmed(result.out));
  if (result.exit_status != 0 || !is_state(word))
    throw cage::Error(CAGE_UNAVAILABLE, std::string(kProgram) + " -q: " + failure_of(result));
  return word;
}

std::string ImexDaemon::domain(const cage::Call& call) const {
  const cage::ProgramResult result = ask(call, {"-N", "-j"});
  if (result.exit_status != 0) return {};
  boost::system::error_code error;
  const json::value parsed = json::parse(result.out, error);
  const json::object* const object = error ? nullptr : parsed.if_object();
  const json::value* const status = object != nullptr ? object->if_contains("status") : nullptr;
  if (status == nullptr || !status->is_string()) return {};
  const std::string_view word = status->get_string();
  return is_state(word) ? std::string(word) : std::string();
}

cage::Health ImexDaemon::health(const cage::Call& call) const {
  try {
    const std::string daemon = state(call);
    if (daemon != kReady)
      return not_ready("ImexNotReady", "the IMEX daemon of the node is " + daemon, daemon).about(kImexCause);
    const std::string about = domain(call);
    const std::string text = "the IMEX domain of the node is " + about;
    if (about == "DOWN") return not_ready("ImexDomainDown", text, about).about(kImexCause);
    // The peers that are left still reach each other.
    if (about == "DEGRADED")
      return cage::Health::degraded("ImexDomainDegraded", text)
          .tainted(cage::Taint::inform, std::string(kImexCauses[0].taint_key), about)
          .about(kImexCause);
    return cage::Health::ok().about(kImexCause);
  } catch (const cage::Error& error) {
    if (call.cancelled()) throw;
    return not_ready("NoImexDaemon", error.what(), kNoDaemon).about(kImexCause);
  }
}

void ImexDaemon::wait_until_ready(const cage::Call& call) const {
  using Clock = cage::Call::Clock;
  const Clock::time_point end =
      call.deadline() ? *call.deadline() - kBeforeDeadline : Clock::now() + kWaitWithoutDeadline;
  while (true) {
    std::string found;
    try {
      found = state(call);
      if (found == kReady) return;
    } catch (const cage::Error& error) {
      // Time does not help with other errors.
      if (call.cancelled() || error.status() != CAGE_UNAVAILABLE) throw;
      found = error.what();
    }
    call.progress("the IMEX daemon of the node is not ready: " + found);
    if (Clock::now() + kPollInterval >= end)
      throw cage::Error(CAGE_UNAVAILABLE, "the IMEX daemon of the node is not ready: " + found +
                                              "; see the service nvidia-imex of the node");
    call.sleep(kPollInterval);
  }
}

}  // namespace cardcage::nvidia
