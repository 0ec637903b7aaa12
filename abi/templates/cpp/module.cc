// SPDX-License-Identifier: Apache-2.0
// @NAME@: a module for Cardcage. Each file "card*" in the folder `device_dir` is a card; its first line is "ok" or says
// what is wrong with the card. "Replace" marks what a real module asks its driver instead.
#include <cardcage/sdk.hpp>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace {

class Cards final : public cage::Module {
 public:
  static constexpr std::string_view id = "com.example.@NAME@", version = "1.0.0", vendor = "Example";
  static constexpr cage::Option declared_options[] = {
      cage::Option::text("device_dir", "/run/@NAME@", "a folder with a file for each card")};
  static constexpr cage_str modes[] = {CAGE_LIT("fast"), CAGE_LIT("quiet")};
  static constexpr cage::Option fields[] = {cage::Option::text("mode", "fast", "how the fans run").one_of(modes)};
  static constexpr cage::Cause declared_causes[] = {{"Fault", "what the card says of itself"}};
  static constexpr cage::Schema declared_schemas[] = {cage::Schema::of<fields>("@NAME@.example.com/v1", "CardConfig")};

  Cards(const cage::Call&, cage::Host host, const cage::Values& options)
      : host_(host), device_dir_(options.text("device_dir")) {}

  // Reports every card, each time. The id of a real card is its UUID, serial number or bus address.
  void discover(const cage::Call&, cage::Snapshot& out) override {
    if (!std::filesystem::is_directory(device_dir_)) {
      throw cage::Error(CAGE_UNAVAILABLE, "option 'device_dir': '" + device_dir_.string() + "' is not a folder");
    }
    for (const auto& entry : std::filesystem::directory_iterator(device_dir_)) {
      const std::string card = entry.path().filename();
      if (card.rfind("card", 0) != 0) continue;
      if (const auto health = read_health(card)) {
        out.add(cage::Device(card, "card").attribute("model", "@NAME@ 1").health(*health));
      }
    }
  }

  // Replace: the node of a real card has a path of its own; /dev/null stands in for it. What prepare() changes on the
  // card and unprepare() must undo, save it with edits.save(): memory does not survive a restart.
  void prepare(const cage::Call&, const cage::Claim& claim, cage::Edits& edits) override {
    for (const cage::Allocation& card : claim.allocations()) {
      const std::string name(card.device());
      if (!read_health(name)) throw cage::Error(CAGE_NOT_FOUND, "card '" + name + "' is gone; is it powered?");
      cage::DeviceNode node;
      node.path = "/dev/@NAME@/" + name;
      node.host_path = "/dev/null";
      edits.of(card).device_node(node).env("CARD_MODE", card.params().text("mode"));
    }
  }

  // Succeeds for claims that were never prepared and for cards that are gone, too.
  void unprepare(const cage::Call&, const cage::Claim&) override {}  // nothing of a claim stays on the card

  // The host calls it for each card every 30 s.
  void check(const cage::Call&, std::string_view device) override {
    if (const auto health = read_health(std::string(device))) {
      host_.health(device, *health);
    } else {
      host_.rescan();  // discover() leaves the card out
    }
  }

 private:
  // Replace: reads the first line of the card's file. Returns nothing if the card is gone.
  std::optional<cage::Health> read_health(const std::string& card) const {
    const std::string path = device_dir_ / card;
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
    if (!file) return std::nullopt;
    char line[256] = "";
    const bool empty = std::fgets(line, sizeof line, file.get()) == nullptr;
    const std::string state = empty ? "" : std::string(line, std::strcspn(line, "\n"));
    return (state == "ok" ? cage::Health::ok() : cage::Health::bad("CardFault", state)).about("Fault");
  }

  cage::Host host_;
  std::filesystem::path device_dir_;
};

}  // namespace

CARDCAGE_MODULE(Cards)
