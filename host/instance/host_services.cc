#include "host/instance/host_services.h"

#include <utility>

#include "host/core/clock.h"
#include "host/core/version.h"
#include "host/instance/call_context.h"
#include "host/instance/command_copy.h"
#include "host/instance/host_families.h"
#include "host/sinks/borrowed.h"
#include "host/sinks/device_copy.h"
#include "host/sinks/lent.h"
#include "host/sinks/snapshot_sink.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxLogLine = 2048;

}  // namespace

LogLevel log_level_of(std::uint32_t level) {
  return level > CAGE_LOG_ERROR ? LogLevel::kError : static_cast<LogLevel>(level);
}

HostServices::HostServices(std::string module, std::function<void()> arrived, Asks& asks, bool has_events,
                           const std::vector<CauseDeclaration>& causes, std::uint32_t minor)
    : module_(std::move(module)),
      arrived_(std::move(arrived)),
      asks_(asks),
      causes_(module_, causes),
      table_{},
      has_events_(has_events),
      descriptors_([this](std::int32_t descriptor) { note_descriptor(descriptor); }) {
  table_.struct_size = sizeof table_;
  table_.abi_minor = minor;
  table_.host_data = this;
  table_.version = {version().data(), version().size()};
  table_.log_enabled = [](const cage_host*, std::uint32_t level) -> std::int32_t {
    return log_enabled(log_level_of(level)) ? 1 : 0;
  };
  table_.log = [](const cage_host* table, std::uint32_t level, cage_str text) { self_of(table).log(level, text); };
  table_.rescan = [](const cage_host* table) { self_of(table).note_rescan(); };
  table_.health = [](const cage_host* table, const cage_health* health) { self_of(table).note_health(health); };
  table_.extension = [](const cage_host* table, const char* id) -> const void* {
    const std::string_view family(id == nullptr ? "" : id);
    if (family == CAGE_HOST_EXEC) return &self_of(table).exec_;
    if (family == CAGE_HOST_SERVICE) return service_family();
    if (family == CAGE_HOST_POLL) return &self_of(table).poll_;
    return family == CAGE_HOST_WRITE ? write_family() : nullptr;
  };
  poll_.struct_size = sizeof poll_;
  poll_.add = [](const cage_host* table, std::int32_t descriptor) -> cage_status {
    return self_of(table).add_descriptor(descriptor);
  };
  poll_.remove = [](const cage_host* table, std::int32_t descriptor) -> cage_status {
    return self_of(table).remove_descriptor(descriptor);
  };
  exec_.struct_size = sizeof exec_;
  exec_.run = [](const cage_host* table, const cage_call* call, const cage_command* command, void* user,
                 cage_command_ended ended) -> cage_status {
    const auto ran = self_of(table).run_program(call, command);
    if (!ran) return explain_on(call, ran);
    cage_command_result result{};
    result.struct_size = sizeof result;
    if (ran->timed_out) result.flags |= CAGE_COMMAND_TIMED_OUT;
    if (ran->cut) result.flags |= CAGE_COMMAND_CUT;
    result.exit_status = ran->exit_status;
    result.signal = ran->signal;
    result.out = {ran->out.data(), ran->out.size()};
    result.err = {ran->err.data(), ran->err.size()};
    if (ended != nullptr) ended(user, &result);
    return CAGE_OK;
  };
}

void HostServices::close() {
  closed_.store(true);
  descriptors_.close();
}

cage_status HostServices::add_descriptor(std::int32_t descriptor) {
  Status added = has_events_ ? Status{} : fail(Code::kFailedPrecondition, "the module has no " CAGE_EXT_WATCH);
  if (closed_.load()) added = fail(Code::kFailedPrecondition, "the instance has ended");
  if (added) added = descriptors_.add(descriptor);
  if (added) return CAGE_OK;
  log_limited(LogLevel::kError, module_ + "/poll", "descriptor is not polled: " + added.error().message,
              {{"module", module_}, {"descriptor", descriptor}, {"rule", "R20"}});
  return static_cast<cage_status>(added.error().code);
}

cage_status HostServices::remove_descriptor(std::int32_t descriptor) {
  const Status removed = descriptors_.remove(descriptor);
  return removed ? CAGE_OK : static_cast<cage_status>(removed.error().code);
}

Result<ExecResult> HostServices::run_program(const cage_call* call, const cage_command* command) {
  if (call == nullptr) return fail(Code::kInvalidArgument, "cage_exec.run: cage_call is NULL");
  auto ask = copy_command(command);
  if (!ask) return std::unexpected(ask.error());
  const std::string program = ask->program;
  auto reply = asks_.ask(CallContext::of(call).number(), std::move(*ask));
  if (!reply) return within(reply.error(), "program '{}'", program);
  return std::get<ExecResult>(std::move(*reply));
}

void HostServices::open(const NodeRoots& roots) {
  roots_ = roots;
  table_.sysfs = lent(roots_.sysfs.native());
  table_.procfs = lent(roots_.procfs.native());
  table_.devfs = lent(roots_.devfs.native());
  table_.driver_root = lent(roots_.driver.native());
  closed_.store(false);
}

ModuleNews HostServices::take() {
  const std::lock_guard lock(mutex_);
  pending_ = false;
  ModuleNews news = std::exchange(news_, {});
  news.health = health_.take();
  return news;
}

void HostServices::log(std::uint32_t level, cage_str text) {
  if (closed_.load() || text.data == nullptr || !log_enabled(log_level_of(level))) return;
  LineBudget::Verdict verdict;
  {
    const std::lock_guard lock(mutex_);
    verdict = log_budget_.take(SystemClock().now());
  }
  if (verdict.left_out > 0)
    log_limited(LogLevel::kWarn, module_ + "/lines", "module logs too much; lines are left out",
                {{"module", module_}, {"lines", verdict.left_out}, {"rule", "Limits"}});
  if (!verdict.write) return;
  const std::string_view start(text.data, std::min(text.size, kMaxLogLine + 4));
  const std::string line = printable_lines(start, kMaxLogLine);
  {
    const std::lock_guard lock(mutex_);
    last_lines_.add(line);
  }
  cardcage::log(log_level_of(level), line, {{"module", module_}});
}

std::vector<SaidLine> HostServices::last_lines() {
  const std::lock_guard lock(mutex_);
  return last_lines_.all();
}

template <class Change>
void HostServices::note(Change change) {
  if (closed_.load()) return;
  {
    const std::lock_guard lock(mutex_);
    change(news_);
    if (std::exchange(pending_, true)) return;
  }
  arrived_();
}

void HostServices::note_progress(std::uint64_t call, Progress progress) {
  note([&](ModuleNews& news) { news.progress.insert_or_assign(call, std::move(progress)); });
}

void HostServices::note_rescan() {
  note([](ModuleNews& news) { news.rescan = true; });
}

void HostServices::note_descriptor(std::int32_t descriptor) {
  note([descriptor](ModuleNews& news) { news.descriptors.insert(descriptor); });
}

void HostServices::note_health(const cage_health* given) {
  const auto refuse = [&](const std::string& why) {
    log_limited(LogLevel::kError, module_ + "/health", "health report is ignored: " + why,
                {{"module", module_}, {"rule", "R6"}});
  };
  const auto adopted = adopt(given, "cage_health");
  if (!adopted) return refuse(adopted.error().message);
  auto health = copy_health(*adopted);
  if (!health) return refuse(health.error().message);
  if (health->first.empty()) return refuse("health.device_id is empty: say which device it is about");
  causes_.check(health->second);
  auto kept = KeptHealth::Outcome::kKept;
  note([&](ModuleNews&) { kept = health_.put(health->first, health->second); });
  switch (kept) {
    case KeptHealth::Outcome::kKept: return;
    case KeptHealth::Outcome::kTooManyCauses:
      return refuse(fmt::format("device '{}' has more than {} causes [R6]", health->first, kMaxCauses));
    // A snapshot needs less: the module reports devices that it does not list.
    case KeptHealth::Outcome::kTooMuch: return refuse("too many others wait");
  }
}

}  // namespace cardcage
