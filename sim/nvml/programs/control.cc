// fake-nvidia ROOT COMMAND ...: the changes of FakeGpus for shell and Python tests.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/nvml/fake_gpus.h"

using cardcage::FakeGpus;
namespace nvml = cardcage::nvml;

namespace {

constexpr int kBadUsage = 2;

// The words after the command. A missing one ends the program.
class Words {
 public:
  explicit Words(std::vector<std::string> words) : words_(std::move(words)) {}
  std::string text(std::size_t index) const {
    if (index >= words_.size()) throw std::invalid_argument("too few arguments");
    return words_[index];
  }
  unsigned long long big(std::size_t index) const {
    const std::string word = text(index);
    std::size_t end = 0;
    const unsigned long long value = std::stoull(word, &end, 0);
    if (end != word.size()) throw std::invalid_argument("not a number: " + word);
    return value;
  }
  unsigned number(std::size_t index) const { return static_cast<unsigned>(big(index)); }
  int gpu() const { return static_cast<int>(number(0)); }
  bool flag(std::size_t index) const { return text(index) == "on" || text(index) == "1"; }
  unsigned instance(std::size_t index) const { return index < words_.size() ? number(index) : nvml::kNoInstance; }
  bool has(std::size_t index) const { return index < words_.size(); }

 private:
  std::vector<std::string> words_;
};

struct Command {
  const char* usage;
  std::function<void(FakeGpus&, const Words&)> run;
};

void describe(FakeGpus& gpus, const Words&) {
  std::printf("driver %s\nlibrary %s\n", gpus.driver_version().c_str(), gpus.library().c_str());
  const unsigned count = gpus.state()->gpu_count;
  for (unsigned i = 0; i < count; ++i) {
    const int gpu = static_cast<int>(i);
    std::printf("gpu %u %s %s\n", i, gpus.bus_id(gpu).c_str(), gpus.uuid(gpu).c_str());
  }
}

const std::map<std::string, Command> kCommands = {
    {"show", {"", describe}},
    {"xid",
     {"GPU XID [GI CI]",
      [](FakeGpus& g, const Words& w) { g.raise_xid(w.gpu(), w.big(1), w.instance(2), w.instance(3)); }}},
    {"event", {"GPU TYPE DATA", [](FakeGpus& g, const Words& w) { g.raise_event(w.gpu(), w.big(1), w.big(2)); }}},
    {"action",
     {"GPU ACTION",
      [](FakeGpus& g, const Words& w) {
        g.set_recovery_action(w.gpu(), static_cast<nvml::RecoveryAction>(w.number(1)));
      }}},
    {"lose", {"GPU", [](FakeGpus& g, const Words& w) { g.lose(w.gpu()); }}},
    {"remove", {"GPU", [](FakeGpus& g, const Words& w) { g.remove(w.gpu()); }}},
    {"restore", {"GPU", [](FakeGpus& g, const Words& w) { g.restore(w.gpu()); }}},
    {"reset", {"GPU", [](FakeGpus& g, const Words& w) { g.reset(w.gpu()); }}},
    {"deny", {"GPU on|off", [](FakeGpus& g, const Words& w) { g.deny(w.gpu(), w.flag(1)); }}},
    {"mig-mode", {"GPU on|off", [](FakeGpus& g, const Words& w) { g.set_mig_mode(w.gpu(), w.flag(1)); }}},
    {"create-instance",
     {"GPU PROFILE-ID START",
      [](FakeGpus& g, const Words& w) { std::printf("%u\n", g.create_instance(w.gpu(), w.number(1), w.number(2))); }}},
    {"destroy-instance", {"GPU GI", [](FakeGpus& g, const Words& w) { g.destroy_instance(w.gpu(), w.number(1)); }}},
    {"process",
     {"GPU PID BYTES [GI CI]",
      [](FakeGpus& g, const Words& w) {
        g.add_process(w.gpu(), w.number(1), w.big(2), w.instance(3), w.instance(4));
      }}},
    {"end-process", {"GPU PID", [](FakeGpus& g, const Words& w) { g.remove_process(w.gpu(), w.number(1)); }}},
    {"field", {"GPU ID VALUE", [](FakeGpus& g, const Words& w) { g.set_field(w.gpu(), w.number(1), w.big(2)); }}},
    {"ecc",
     {"GPU corrected|uncorrected volatile|aggregate ERRORS",
      [](FakeGpus& g, const Words& w) {
        g.set_ecc(w.gpu(), w.text(1) == "corrected" ? nvml::kCorrected : nvml::kUncorrected,
                  w.text(2) == "volatile" ? nvml::kVolatile : nvml::kAggregate, w.big(3));
      }}},
    {"rows",
     {"GPU CORRECTABLE UNCORRECTABLE PENDING FAILURE",
      [](FakeGpus& g, const Words& w) {
        g.set_remapped_rows(w.gpu(), {w.number(1), 0, w.number(2), 0, w.number(3), w.number(4)});
      }}},
    {"temperature", {"GPU CELSIUS", [](FakeGpus& g, const Words& w) { g.set_temperature(w.gpu(), w.number(1)); }}},
    {"link-width", {"GPU LANES", [](FakeGpus& g, const Words& w) { g.set_link_width(w.gpu(), w.number(1)); }}},
    {"fabric",
     {"GPU STATE [STATUS CLIQUE]",
      [](FakeGpus& g, const Words& w) {
        g.set_fabric(w.gpu(), static_cast<nvml::FabricState>(w.number(1)),
                     static_cast<nvml::Return>(w.has(2) ? w.number(2) : 0), w.has(3) ? w.number(3) : 0);
      }}},
    {"join", {"GPU CLIQUE", [](FakeGpus& g, const Words& w) { g.join_fabric(w.gpu(), w.number(1)); }}},
    {"imex",
     {"DAEMON [DOMAIN]", [](FakeGpus& g, const Words& w) { g.run_imex(w.text(0), w.has(1) ? w.text(1) : "UP"); }}},
    {"end-imex", {"", [](FakeGpus& g, const Words&) { g.end_imex(); }}},
    {"nvlink",
     {"GPU LINK [PEER]",
      [](FakeGpus& g, const Words& w) {
        g.set_nvlink(w.gpu(), w.number(1), w.has(2) ? std::optional(static_cast<int>(w.number(2))) : std::nullopt);
      }}},
    {"cut-nvlink", {"GPU LINK", [](FakeGpus& g, const Words& w) { g.cut_nvlink(w.gpu(), w.number(1)); }}},
    {"fail",
     {"FUNCTION CODE [TIMES]",
      [](FakeGpus& g, const Words& w) {
        g.fail(w.text(0), static_cast<nvml::Return>(w.number(1)),
               w.has(2) ? static_cast<int>(w.number(2)) : FakeGpus::kForever);
      }}},
    {"delay", {"FUNCTION MS", [](FakeGpus& g, const Words& w) { g.delay(w.text(0), w.number(1)); }}},
    {"hang", {"FUNCTION", [](FakeGpus& g, const Words& w) { g.hang(w.text(0)); }}},
    {"release", {"", [](FakeGpus& g, const Words&) { g.release(); }}},
    {"calls", {"FUNCTION", [](FakeGpus& g, const Words& w) { std::printf("%llu\n", g.calls(w.text(0))); }}},
    {"upgrade", {"VERSION", [](FakeGpus& g, const Words& w) { g.upgrade_driver(w.text(0)); }}},
    {"mismatch", {"VERSION", [](FakeGpus& g, const Words& w) { g.mismatch(w.text(0)); }}},
    {"unload", {"", [](FakeGpus& g, const Words&) { g.unload_driver(); }}},
    {"load", {"", [](FakeGpus& g, const Words&) { g.load_driver(); }}},
};

int usage() {
  std::fprintf(stderr, "usage: fake-nvidia ROOT COMMAND ...\n  create PRODUCT COUNT [DRIVER]\n");
  for (const auto& [name, command] : kCommands) std::fprintf(stderr, "  %s %s\n", name.c_str(), command.usage);
  return kBadUsage;
}

void create(const std::string& root, const Words& words) {
  cardcage::FakeNode node{words.text(0), static_cast<int>(words.number(1))};
  if (words.has(2)) node.driver = words.text(2);
  FakeGpus gpus(root, node);
  describe(gpus, words);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return usage();
  const std::string root = argv[1], name = argv[2];
  const Words words(std::vector<std::string>(argv + 3, argv + argc));
  try {
    if (name == "create") {
      create(root, words);
      return 0;
    }
    const auto command = kCommands.find(name);
    if (command == kCommands.end()) return usage();
    FakeGpus gpus = FakeGpus::open(root);
    command->second.run(gpus, words);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fake-nvidia: %s: %s\n", name.c_str(), error.what());
    return 1;
  }
}
