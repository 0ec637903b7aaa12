#include "tests/kill/kill_fixture.h"

#include <fmt/format.h>

#include <cstdlib>
#include <thread>

#include "host/cdi/writer.h"

namespace cardcage {

using ::testing::IsEmpty;

void KillTest::configure_with(const std::string& options) {
  configure("devices = [\"gpu:4\", \"nic:4\"]\njournal = true\n" + options);
}

void KillTest::start_with(const Death& death) {
  ::setenv("MORTAL", fmt::format("{} {}", static_cast<int>(death.point), death.victim).c_str(), 1);
  start_and_register();
  ::unsetenv("MORTAL");
}

void KillTest::survive(const Death& death) {
  if (std::string_view(death.victim) == "workers") {
    ASSERT_TRUE(logged("killed by signal 9")) << daemon.log();
    return;
  }
  ASSERT_TRUE(daemon.wait_for_exit(std::chrono::seconds(10)));
  daemon.stop();
  start_and_register();
}

bool KillTest::prepare_with_retries(const ClaimRef& claim) {
  return kubelet.wait_for(
      [&] {
        const auto response = kubelet.prepare(kDriver, {claim});
        return response && response->at(claim.uid);
      },
      std::chrono::seconds(15));
}

bool KillTest::unprepare_with_retries(const ClaimRef& claim) {
  return kubelet.wait_for([&] { return unprepare(claim).has_value(); }, std::chrono::seconds(15));
}

void KillTest::expect_nothing_left() {
  EXPECT_THAT(files(hardware()), IsEmpty());
  EXPECT_THAT(claims_with_cdi_file(), IsEmpty());
  daemon.stop();
  EXPECT_THAT(audit().held, IsEmpty());
}

KillTest::Books KillTest::audit() const {
  Books books;
  for (const std::string& name : files(hardware()))
    books.hardware[name.substr(0, name.find('@'))] = name.substr(name.find('@') + 1);
  asio::io_context core;
  const LedgerOptions options{.file = daemon.folder() / "state/ledger.db",
                              .intents = daemon.folder() / "run/intents",
                              .cdi_folder = daemon.folder() / "cdi",
                              .boot_id = read_boot_id().value(),
                              .history = {},
                              .fault = {}};
  SystemClock clock;
  auto ledger = Ledger::open(core, clock, options);
  // A worker that the dead daemon was just starting holds the lock of run_dir until its exec.
  for (int tries = 0; tries < 100 && !ledger && ledger.error().code == Code::kAborted; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ledger = Ledger::open(core, clock, options);
  }
  if (!ledger) {
    ADD_FAILURE() << ledger.error().message;
    return books;
  }
  EXPECT_FALSE((*ledger)->rebuilt());
  std::map<std::string, std::string> holders;
  for (const auto& [key, record] : (*ledger)->claims()) {
    for (const ModulePart& part : record->parts)
      for (const HeldDevice& device : part.devices) {
        books.held[key.uid].insert(device.device_id);
        if (record->phase == ClaimPhase::kPrepared) books.prepared[key.uid].insert(device.device_id);
        const auto [holder, alone] = holders.emplace(device.device_id, key.uid);
        EXPECT_TRUE(alone) << device.device_id << " is held by " << holder->second << " and " << key.uid;
      }
  }
  for (const auto& [device, uid] : books.hardware)
    EXPECT_TRUE(books.held[uid].contains(device))
        << device << " is set up for " << uid << ", which does not hold it in the ledger";
  for (const auto& [uid, devices] : books.prepared)
    for (const std::string& device : devices) EXPECT_EQ(books.hardware[device], uid) << device;
  return books;
}

void KillTest::expect_cdi_files(const Books& books) const {
  const auto written = claims_with_cdi_file();
  for (const auto& [uid, devices] : books.prepared) EXPECT_TRUE(written.contains(uid)) << uid << " has no CDI file";
  for (const std::string& uid : written) EXPECT_TRUE(books.held.contains(uid)) << uid << " is not in the ledger";
}

std::set<std::string> KillTest::claims_with_cdi_file() const {
  std::set<std::string> uids;
  const auto written = CdiWriter(daemon.folder() / "cdi").list();
  if (!written) ADD_FAILURE() << written.error().message;
  for (const ClaimFile& file : written.value_or(std::vector<ClaimFile>{})) uids.insert(file.uid);
  return uids;
}

}  // namespace cardcage
