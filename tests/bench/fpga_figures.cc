#include "tests/bench/fpga_figures.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "host/access/writes.h"
#include "host/config/params.h"
#include "host/core/digest.h"
#include "host/core/task_group.h"
#include "modules/fpga/bitstream/catalogue.h"
#include "sim/fpga/bitstream_files.h"
#include "sim/fpga/fake_fpgas.h"
#include "sim/scratch_folder.h"
#include "tests/bench/loaded_module.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/proc.h"

namespace cardcage::bench {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr const char *kFirst = "0000:3b:00.0", *kSecond = "0000:af:00.0";
constexpr const char* kFunctions[] = {fake_fpga::kNlb0, fake_fpga::kNlb3};
constexpr std::size_t kSmall = 64 << 10, kLarge = 64 << 20;

NodeRoots card_roots(const fs::path& node) {
  return {.sysfs = node / "sys", .procfs = "/proc", .devfs = node / "dev", .driver = "/"};
}

// A catalogue with a bitstream for each function of each card: "0-small", "1-small", "0-large".
void add_bitstream(const fs::path& catalogue, const std::string& name, const std::string& interface,
                   const std::string& function, std::size_t size) {
  GbsFile gbs;
  gbs.interface_uuid = interface;
  gbs.function_uuid = function;
  gbs.data = fake_payload(function, size);
  const std::string bytes = make_gbs(gbs);
  std::ofstream(catalogue / (name + ".gbs"), std::ios::binary) << bytes;
  std::ofstream(catalogue / (name + ".toml"))
      << fmt::format("file = \"{}.gbs\"\nsha256 = \"{}\"\n", name, sha256_hex(bytes));
  for (const char* end : {".gbs", ".toml"}) fs::permissions(catalogue / (name + end), fs::perms(0644));
}

// A worker with the module, on cards whose programming takes real time.
class Bench {
 public:
  explicit Bench(milliseconds time)
      : cards_({fake_fpga::n3000(kFirst), fake_fpga::n3000(kSecond)}, {.names_kept = std::chrono::hours(1)}) {
    if (!cards_.mounted()) throw std::runtime_error("described FPGA cards need root and /dev/fuse");
    cards_.set_programming_time(time);
    fs::create_directories(catalogue());
    fs::permissions(catalogue(), fs::perms(0755));
    for (int i = 0; i < 2; ++i) {
      add_bitstream(catalogue(), fmt::format("{}-small", i), fake_fpga::kN3000Interface, kFunctions[i], kSmall);
      add_bitstream(catalogue(), fmt::format("{}-large", i), fake_fpga::kN3000Interface, kFunctions[i], kLarge);
    }
    loaded_.writes = std::make_shared<HardwareWrites>(loaded_.core, loaded_.clock);
    loaded_.config.writes = {cards_.devfs() / "*", catalogue() / "*",
                             cards_.sysfs() / "bus/pci/devices/*/fpga_region/*/*/errors/*"};
    loaded_.config.options["catalogue"].value = catalogue().native();
    loaded_.config.options["fences"].value = (folder_ / "fences").native();
    loaded_.start();
  }
  fs::path catalogue() const { return folder_ / "bitstreams"; }

  ModuleClaim claim(const std::string& card, const std::string& bitstream) {
    ModuleClaim made = LoadedModule::claim("uid-" + card, card + "/port-0");
    const auto params = LoadedModule::must(decode_params(
        loaded_.module->identity(), ConfigSource::kClaim,
        fmt::format(R"({{"apiVersion":"fpga.cardcage.dev/v1alpha1","kind":"FpgaConfig","bitstream":"{}"}})",
                    bitstream)));
    made.allocations.front().values = LoadedModule::must(resolve_params(loaded_.module->identity(), "port", {params}));
    return made;
  }
  // The durations of prepares that program; every second one has another function.
  Figures program(const std::string& size, int rounds) {
    Figures figures;
    for (int i = 0; i < rounds; ++i) {
      const ModuleClaim wanted = claim(kFirst, fmt::format("{}-{}", i % 2, size));
      figures.time([&] { LoadedModule::must(loaded_.run(preparing(wanted))); });
      LoadedModule::must(loaded_.run(loaded_.module->call(UnprepareCall{wanted}, soon())));
      if (cards_.look(kFirst).port(0)->afu_id != kFunctions[i % 2]) throw std::runtime_error("it was not programmed");
    }
    return figures;
  }
  // The same for both cards at once.
  Figures program_both(int rounds) {
    Figures figures;
    for (int i = 0; i < rounds; ++i) {
      const ModuleClaim one = claim(kFirst, fmt::format("{}-small", i % 2)),
                        two = claim(kSecond, fmt::format("{}-small", i % 2));
      figures.time([&] { loaded_.run(both(one, two)); });
      for (const char* card : {kFirst, kSecond})
        if (cards_.look(card).port(0)->afu_id != kFunctions[i % 2]) throw std::runtime_error("it was not programmed");
      for (const ModuleClaim* each : {&one, &two})
        LoadedModule::must(loaded_.run(loaded_.module->call(UnprepareCall{*each}, soon())));
    }
    return figures;
  }
  // The time that the module takes to look at one of the cards. A prepare does it once; on plain files, as on sysfs, it
  // takes a twentieth of this.
  double look_ms(int rounds) {
    Figures figures;
    for (int i = 0; i < rounds; ++i)
      figures.time([&] { LoadedModule::must(loaded_.run(loaded_.module->call(DiscoverCall{}, soon()))); });
    return figures.p50_us() / 1000 / 2;
  }
  // The worker's peak memory in megabytes.
  double peak() const { return static_cast<double>(proc::peak_kib(proc::workers(::getpid()).at(0))) / 1024; }

 private:
  Instant soon() const { return loaded_.clock.now() + std::chrono::minutes(2); }
  Task<bool> both(const ModuleClaim& one, const ModuleClaim& two) {
    TaskGroup all(loaded_.core);
    for (const ModuleClaim* each : {&one, &two}) all.spawn(prepare(*each));
    co_await all.join(loaded_.clock, soon());
    co_return true;
  }
  Task<void> prepare(const ModuleClaim& wanted) { LoadedModule::must(co_await preparing(wanted)); }
  Task<Result<PreparedEdits>> preparing(const ModuleClaim& wanted) {
    return loaded_.module->call(PrepareCall{wanted}, soon(), [](const std::string&) { return Status(); });
  }

  const ScratchFolder folder_{"/dev/shm"};
  FakeFpgas cards_;
  LoadedModule loaded_{"fpga", Isolation::kProcess, built_module("fpga"), card_roots(cards_.root())};
};

// Discovers on plain files, which the kernel reads as fast as those of sysfs.
Figures fpga_discoveries(int rounds) {
  constexpr int kCards = 8;
  const ScratchFolder folder{"/dev/shm"};
  std::vector<fake_fpga::Card> cards;
  for (int i = 0; i < kCards; ++i)
    cards.push_back(fake_fpga::four_ports(fmt::format("0000:{:02x}:00.0", 0x10 + 2 * i)));
  fake_fpga::write_tree(folder.path(), cards);
  LoadedModule loaded("fpga", Isolation::kProcess, built_module("fpga"), card_roots(folder.path()));
  loaded.config.options["fences"].value = (folder / "fences").native();
  loaded.start();
  if (loaded.snapshot->devices.size() != kCards * 5) throw std::runtime_error("not all ports were found");
  Figures figures;
  for (int i = 0; i < rounds; ++i)
    figures.time([&] { LoadedModule::must(loaded.run(loaded.module->call(DiscoverCall{}, loaded.soon()))); });
  return figures;
}

Figures checks(const fs::path& catalogue, int rounds) {
  const fpga::Entry entry = fpga::Catalogue(catalogue).find("0-large");
  Figures figures;
  for (int i = 0; i < rounds; ++i) figures.time([&] { fpga::check_sha256(entry, {}); });
  return figures;
}

}  // namespace

void measure_fpga(Table& table, bool quick) {
  constexpr milliseconds kTime{200};
  const int rounds = quick ? 5 : 20;
  const Figures discover = fpga_discoveries(quick ? 10 : 50);
  Bench bench(kTime);
  const Figures small = bench.program("small", rounds);
  const double before = bench.peak();
  const Figures large = bench.program("large", rounds);
  const double grown = bench.peak() - before;
  const Figures both = bench.program_both(rounds);
  const double look = bench.look_ms(rounds);
  const Figures check = checks(bench.catalogue(), rounds);
  table.figure("discover of 8 cards with 4 regions each", discover);
  table.figure("programming of 64 KB that takes the card 200 ms", small);
  table.figure("programming of 64 MB that takes the card 200 ms", large);
  table.budget("discover of 8 cards with 4 regions each, p50", discover.p50_us() / 1000, 20, "ms");
  const double over = small.p50_us() / 1000 - static_cast<double>(kTime.count());
  table.value("programming over the card's own time, with the fake's files, p50", over, "ms");
  table.budget("programming over the card's own time and the fake's files, p50", over - look, 5, "ms");
  table.budget("check of a bitstream of 64 MB, p50", check.p50_us() / 1000, 150, "ms");
  table.value("programming of 64 MB over 64 KB, with the fake's copy, p50", (large.p50_us() - small.p50_us()) / 1000,
              "ms");
  table.budget("memory of the worker for 64 MB, peak", grown, 8, "MB");
  table.budget("two cards at once over one, p50", both.p50_us() / small.p50_us(), 1.1, "x");
}

}  // namespace cardcage::bench
