#include <fmt/format.h>

#include <functional>
#include <map>
#include <stdexcept>

#include "sim/fpga/control.h"

namespace cardcage::fake_fpga {
namespace {

// The words after the command. A missing word is an error.
class Words {
 public:
  explicit Words(std::vector<std::string> words) : words_(std::move(words)) {}
  bool has(std::size_t index) const { return index < words_.size(); }
  const std::string& text(std::size_t index) const {
    if (!has(index)) throw std::invalid_argument("too few words");
    return words_[index];
  }
  std::uint64_t big(std::size_t index) const {
    const auto value = kernel_number(text(index));
    if (!value) throw std::invalid_argument("not a number: " + text(index));
    return *value;
  }
  unsigned number(std::size_t index) const { return static_cast<unsigned>(big(index)); }

 private:
  std::vector<std::string> words_;
};

struct Command {
  const char* usage;
  std::function<std::string(FakeFpgas&, const Words&)> run;
};

std::string show(FakeFpgas& fpgas, const Words&) {
  std::string text;
  for (const Card& card : fpgas.cards()) {
    text += "card " + card.address + "\n";
    if (card.dfl) {
      text += fmt::format("  dfl-fme.{} interface {} manager {}\n", card.number("fme"),
                          card.dfl->interface_id.value_or("none"), card.dfl->manager.state);
      for (const Port& port : card.dfl->ports) {
        text += fmt::format("  dfl-port.{} id {} afu {} errors {:#x} resets {}\n",
                            card.number(fmt::format("port/{}", port.id)), port.id, port.afu_id.value_or("none"),
                            port.errors, port.resets);
      }
    }
    for (const PciFunction& function : card.functions)
      text += fmt::format("  {} {:04x}:{:04x} {}\n", function.address, function.vendor, function.device,
                          function.driver.empty() ? "no driver" : function.driver);
    if (card.xrt) text += "  xclbin " + card.xrt->xclbin_uuid + "\n";
    if (card.soc) text += "  firmware " + card.soc->firmware + "\n";
  }
  return text;
}

std::string log(FakeFpgas& fpgas, const Words&) {
  std::string text;
  for (const std::string& line : fpgas.log()) text += line + "\n";
  return text;
}

std::string set_value(FakeFpgas& fpgas, const Words& words) {
  fpgas.change(words.text(0), [&](Card& card) {
    static const std::map<std::string, unsigned Xrt::*> kValues = {
        {"ready", &Xrt::ready},           {"dev_offline", &Xrt::offline},         {"device_bad_state", &Xrt::bad_state},
        {"shutdown", &Xrt::shutdown},     {"mig_calibration", &Xrt::calibration}, {"firewall", &Xrt::firewall_level},
        {"link_speed", &Xrt::link_speed}, {"sec_level", &Xrt::security_level}};
    const auto found = kValues.find(words.text(1));
    if (!card.xrt || found == kValues.end()) throw std::invalid_argument("the card has no value " + words.text(1));
    *card.xrt.*found->second = words.number(2);
  });
  return "";
}

Port& port_of(Card& card, unsigned id) {
  Port* port = card.port(id);
  if (port == nullptr) throw std::invalid_argument(fmt::format("the card has no port {}", id));
  return *port;
}

// A command that prints nothing.
template <class Action>
Command silent(const char* usage, Action action) {
  return {usage, [action](FakeFpgas& fpgas, const Words& words) {
            action(fpgas, words);
            return std::string();
          }};
}

const std::map<std::string, Command>& commands() {
  using F = FakeFpgas;
  using W = const Words;
  static const std::map<std::string, Command> kCommands = {
      {"show", {"", show}},
      {"log", {"", log}},
      {"clear-log", silent("", [](F& f, W&) { f.clear_log(); })},
      {"set-error",
       silent("ADDRESS PORT BITS", [](F& f, W& w) { f.set_port_errors(w.text(0), w.number(1), w.big(2)); })},
      {"fatal", silent("ADDRESS BITS", [](F& f, W& w) { f.set_fatal_errors(w.text(0), w.big(1)); })},
      {"afu", silent("ADDRESS PORT ID", [](F& f, W& w) { f.set_afu_id(w.text(0), w.number(1), w.text(2)); })},
      {"interface", silent("ADDRESS [ID]",
                           [](F& f, W& w) {
                             f.change(w.text(0), [&](Card& card) {
                               card.dfl.value().interface_id = w.has(1) ? std::optional(w.text(1)) : std::nullopt;
                             });
                           })},
      {"power-state", silent("ADDRESS PORT STATE",
                             [](F& f, W& w) {
                               f.change(w.text(0),
                                        [&](Card& card) { port_of(card, w.number(1)).power_state = w.number(2); });
                             })},
      {"sensor",
       silent("ADDRESS HWMON SENSOR VALUE",
              [](F& f, W& w) { f.set_sensor(w.text(0), w.text(1), w.text(2), static_cast<long>(w.big(3))); })},
      {"xrt", {"ADDRESS NAME VALUE", set_value}},
      {"xclbin", silent("ADDRESS UUID", [](F& f, W& w) { f.load_xclbin(w.text(0), w.text(1)); })},
      {"reset-card", silent("ADDRESS", [](F& f, W& w) { f.reset_xrt(w.text(0)); })},
      {"shell-gone", silent("ADDRESS on|off",
                            [](F& f, W& w) {
                              f.change(w.text(0), [&](Card& card) { card.dfl.value().shell_gone = w.text(1) == "on"; });
                            })},
      {"fail-next", silent("[ERRNO STATUS STATE]",
                           [](F& f, W& w) {
                             FakeFpgas::Failure failure;
                             if (w.has(0)) failure = {static_cast<int>(w.number(0)), w.text(1), w.text(2)};
                             f.fail_next(failure);
                           })},
      {"hold", silent("", [](F& f, W&) { f.hold(); })},
      {"release", silent("", [](F& f, W&) { f.release(); })},
      {"pr-time",
       silent("MILLISECONDS", [](F& f, W& w) { f.set_programming_time(std::chrono::milliseconds(w.big(0))); })},
      {"programming", {"", [](F& f, W&) { return fmt::format("{}\n", f.programming()); }}},
      {"open-count", {"NODE", [](F& f, W& w) { return fmt::format("{}\n", f.open_count(w.text(0))); }}},
      {"add", silent("CARD", [](F& f, W& w) { f.add_card(described(w.text(0))); })},
      {"remove", silent("ADDRESS", [](F& f, W& w) { f.remove_card(w.text(0)); })},
      {"renumber", silent("", [](F& f, W&) { f.renumber(); })},
  };
  return kCommands;
}

}  // namespace

std::string execute(FakeFpgas& fpgas, const std::vector<std::string>& words) {
  if (words.empty()) throw std::invalid_argument("no command");
  const auto found = commands().find(words[0]);
  if (found == commands().end()) throw std::invalid_argument("no such command");
  return found->second.run(fpgas, Words({words.begin() + 1, words.end()}));
}

std::string usage() {
  std::string text;
  for (const auto& [name, command] : commands()) text += fmt::format("  {} {}\n", name, command.usage);
  return text;
}

}  // namespace cardcage::fake_fpga
