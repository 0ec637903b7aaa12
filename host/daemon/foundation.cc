#include "host/daemon/foundation.h"

#include <utility>

#include "host/apiserver/api_server.h"
#include "host/apiserver/embedded_node.h"
#include "host/claim/recovery.h"
#include "host/core/file.h"
#include "host/core/lock_holder.h"

namespace cardcage {
namespace {

// Short, because no daemon serves the node from the end of the previous one until the next attempt.
constexpr Duration kLedgerRetry = std::chrono::milliseconds(20), kLedgerLogInterval = std::chrono::seconds(30);

// The first process that holds a lock on one of the files.
std::string holder_of(std::initializer_list<std::filesystem::path> locked) {
  for (const auto& path : locked)
    if (const auto pid = lock_holder(path)) return fmt::format("process {}", *pid);
  return "a process of another PID namespace";
}

}  // namespace

Foundation::Foundation(Config of_daemon, FaultHook fault_hook)
    : config(std::move(of_daemon)),
      fault(std::move(fault_hook)),
      hand_over(config.node.run_dir / "next"),
      cdi(config.node.cdi_dir, config.node.run_dir / "metadata") {}

Result<std::unique_ptr<Foundation>> Foundation::open(Config of_daemon, FaultHook fault_hook) {
  auto foundation = std::make_unique<Foundation>(std::move(of_daemon), std::move(fault_hook));
  if (auto opened = foundation->open(); !opened) {
    foundation->close_standby();
    return std::unexpected(opened.error());
  }
  return foundation;
}

Status Foundation::open() {
  if (auto made = make_folder(config.node.state_dir, 0700); !made) return made;
  if (auto opened = open_ledger(); !opened) return opened;
  if (auto opened = open_cluster(); !opened) return opened;
  auto program = program_beside("cardcage-hook");
  if (!program) return std::unexpected(program.error());
  hook_program = std::move(*program);
  return {};
}

Status Foundation::open_cluster() {
  if (!config.node.claims_folder.empty()) {
    auto node = EmbeddedNode::make(core, clock, config.node.claims_folder);
    if (!node) return std::unexpected(node.error());
    cluster = std::move(*node);
    return {};
  }
  auto server = ApiServer::make(core, clock, config.apiserver, config.node.name);
  if (!server) return std::unexpected(server.error());
  cluster = std::move(*server);
  return {};
}

// During a rolling update the previous daemon keeps the ledger until its sockets are removed and its calls are
// finished. No resource is served before that, because kubelets up to 1.36 confuse two instances of one.
Result<std::unique_ptr<Ledger>> Foundation::wait_for_ledger() {
  auto boot_id = read_boot_id();
  if (!boot_id) return std::unexpected(boot_id.error());
  const LedgerOptions options{.file = config.node.state_dir / "ledger.db",
                              .intents = config.node.run_dir / "intents",
                              .cdi_folder = config.node.cdi_dir,
                              .boot_id = *boot_id,
                              .history = {},
                              .fault = fault,
                              .changes = &changes};
  auto opened = Ledger::open(core, clock, options);
  if (opened || opened.error().code != Code::kAborted) return opened;
  hand_over.wait();
  bool stop = false;
  stop_signals.async_wait([&](const boost::system::error_code& cancelled, int) {
    if (cancelled) return;
    stop = true;
    core.stop();
  });
  for (Duration waited{}; !opened && opened.error().code == Code::kAborted && !stop; waited += kLedgerRetry) {
    if (waited % kLedgerLogInterval == Duration::zero())
      log(LogLevel::kInfo, "waiting for another cardcage to exit",
          {{"error", opened.error().message},
           {"held_by", holder_of({config.node.run_dir, options.file})},
           {"remedy", "stop it, or give this daemon a run_dir and a state_dir of its own"}});
    core.run_for(kLedgerRetry);
    core.restart();
    stand_by();
    opened = Ledger::open(core, clock, options);
  }
  hand_over.end();
  stop_signals.cancel();
  core.poll();
  core.restart();
  if (stop) return fail(Code::kAborted, "stopped while waiting for another cardcage to exit");
  return opened;
}

Status Foundation::open_ledger() {
  auto opened = wait_for_ledger();
  if (!opened) return std::unexpected(opened.error());
  ledger = std::move(*opened);
  const CdiRecovery recovery = recover_cdi(*ledger, cdi);
  for (const Error& problem : recovery.problems) log(LogLevel::kError, problem.message);
  if (!ledger->claims().empty() || recovery.removed > 0) {
    log(LogLevel::kInfo, "claims loaded from the ledger",
        {{"claims", ledger->claims().size()},
         {"cdi_files_written", recovery.written},
         {"cdi_files_removed", recovery.removed}});
  }
  return {};
}

// The previous daemon is about to exit. This one registers the drivers, too, so that the kubelet always has one to
// call: it repeats a call that failed only after a minute or more.
void Foundation::stand_by() {
  if (!hand_over.asked()) return;
  standby.open();
  if (standby.registered()) hand_over.say_registered();
}

void Foundation::close_standby() {
  bool closed = false;
  spawn(core, [](Standby& fronts, bool& done) -> Task<void> {
    co_await fronts.close();
    done = true;
  }(standby, closed));
  while (!closed) core.run_one();
  core.restart();
}

}  // namespace cardcage
