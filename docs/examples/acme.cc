// SPDX-License-Identifier: Apache-2.0
// A module in C++ for Acme's cards, which the kernel shows as /dev/acme0, /dev/acme1, ...
#include <cardcage/sdk.hpp>

#include <filesystem>

namespace {

class Acme final : public cage::Module {
 public:
  static constexpr std::string_view id = "com.acme.card", version = "1.0.0", vendor = "Acme";
  static constexpr cage_str modes[] = {CAGE_LIT("fast"), CAGE_LIT("quiet")};
  static constexpr cage::Option declared_options[] = {
      cage::Option::text("dev_dir", "/dev", "where the device nodes are")};
  static constexpr cage::Option fields[] = {
      cage::Option::text("mode", "fast", "how the fans run").one_of(modes),
      cage::Option::integer("boost", "0", "extra clock, MHz").range(0, 500),
  };
  static constexpr cage::Schema declared_schemas[] = {cage::Schema::of<fields>("acme.com/v1", "CardConfig")};

  Acme(const cage::Call&, cage::Host host, const cage::Values& options)
      : host_(host), dev_dir_(options.text("dev_dir")) {
    if (!std::filesystem::is_directory(dev_dir_)) {
      throw cage::Error(CAGE_FAILED_PRECONDITION, "option 'dev_dir': '" + dev_dir_.string() + "' is not a folder");
    }
  }

  void discover(const cage::Call&, cage::Snapshot& out) override {
    for (const auto& entry : std::filesystem::directory_iterator(dev_dir_)) {
      const std::string name = entry.path().filename();
      if (name.rfind("acme", 0) != 0) continue;
      out.add(cage::Device(name, "card")
                  .attribute("model", "Acme 9000")
                  .attribute("firmware", cage::Version{"2.3.0"})
                  .capacity("memory", cage::Quantity::gib(8))
                  .health(cage::Health::ok()));
    }
  }

  void prepare(const cage::Call&, const cage::Claim& claim, cage::Edits& edits) override {
    for (const cage::Allocation& card : claim.allocations()) {
      const auto node = dev_dir_ / card.device();
      if (!std::filesystem::exists(node)) {
        throw cage::Error(CAGE_NOT_FOUND, "card '" + std::string(card.device()) + "' is gone; is it powered?");
      }
      edits.of(card)
          .device_node(node)
          .env("ACME_MODE", card.params().text("mode"))
          .env("ACME_BOOST_MHZ", std::to_string(card.params().integer("boost")));
    }
    host_.info() << "claim " << claim.name() << ": " << claim.allocations().size() << " cards";
  }

  void unprepare(const cage::Call&, const cage::Claim&) override {}  // nothing of a claim stays on the card

 private:
  cage::Host host_;
  std::filesystem::path dev_dir_;
};

}  // namespace

CARDCAGE_MODULE(Acme)
