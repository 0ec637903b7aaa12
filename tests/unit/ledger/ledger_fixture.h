// A ledger in a scratch folder.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/ledger/ledger.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"
#include "tests/unit/ledger/records.h"

namespace cardcage {

inline const WallTime kLater(std::chrono::milliseconds(1'800'000'060'002));

class LedgerFixture : public CoreFixture {
 protected:
  LedgerOptions options() {
    return {.file = folder_ / "ledger.db",
            .intents = folder_ / "intents",
            .cdi_folder = folder_ / "cdi",
            .boot_id = kBoot,
            .history = {},
            .fault = {}};
  }
  std::unique_ptr<Ledger> open() { return open(options()); }
  std::unique_ptr<Ledger> open(LedgerOptions with) {
    auto ledger = Ledger::open(core, clock, std::move(with));
    EXPECT_TRUE(ledger) << (ledger ? "" : ledger.error().message);
    return ledger ? std::move(*ledger) : nullptr;
  }
  Error open_error() {
    auto ledger = Ledger::open(core, clock, options());
    return ledger ? Error{Code::kOk, "opened"} : ledger.error();
  }
  static Status put(Ledger& ledger, ClaimRecord record) { return ledger.put(std::move(record)); }
  // Writes the waiting changes into the file.
  void write(Ledger& ledger) { EXPECT_TRUE(run(ledger.history({}))); }
  // Runs `act` in a process that is killed afterwards.
  void run_until_killed(const std::function<void(Ledger&)>& act) {
    const pid_t child = ::fork();
    if (child == 0) {
      core.notify_fork(asio::io_context::fork_child);
      const auto ledger = Ledger::open(core, clock, options());
      if (ledger) act(**ledger);
      ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  std::vector<std::string> files_aside() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      if (entry.path().filename().native().starts_with("ledger.db.damaged-")) names.push_back(entry.path().filename());
    return names;
  }

  SystemClock clock;
  ScratchFolder folder_;
};

}  // namespace cardcage
