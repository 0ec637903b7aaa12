// A module in C++ that uses cardcage/sdk.hpp 1.0. It behaves as card.c does.
#include <cardcage/sdk.hpp>

namespace {

class Card final : public cage::Module {
 public:
  static constexpr std::string_view id = "kept.card", version = "1.0.0", vendor = "Cardcage";
  static constexpr std::uint32_t state_version = 2, flags = CAGE_MODULE_CONCURRENT;
  static constexpr cage_str models[] = {CAGE_LIT("X1"), CAGE_LIT("X2")};
  static constexpr cage::Option declared_options[] = {
      cage::Option::integer("cards", "2", "how many cards").range(1, 8),
      cage::Option::text("model", "X1", "their model").one_of(models),
      cage::Option::list("tags", "", "must be two, if any"),
      cage::Option::duration("pause", "250ms", "must be a quarter of a second"),
      cage::Option::boolean("strict", "true", "must be true"),
  };
  static constexpr cage::Option fields[] = {cage::Option::text("mode", "fast", "a mode")};
  static constexpr cage::Schema declared_schemas[] = {cage::Schema::of<fields>("kept.cardcage.dev/v1", "CardConfig")};
  static constexpr auto needed_families = cage::texts(CAGE_SNAPSHOT_COUNTERS, CAGE_EXT_RECONCILE);

  Card(const cage::Call&, cage::Host host, const cage::Values& options)
      : host_(host), cards_(options.integer("cards")), model_(options.text("model")) {
    const auto tags = options.list("tags");
    if (!tags.empty() && tags.size() != 2) throw cage::Error(CAGE_INVALID_ARGUMENT, "option 'tags' needs two");
    if (options.duration("pause") != std::chrono::milliseconds(250) || !options.boolean("strict"))
      throw cage::Error(CAGE_INVALID_ARGUMENT, "the defaults of 'pause' and 'strict' are lost");
  }

  void start(const cage::Call&) override { host_.info() << "started"; }
  void stop(const cage::Call&) override {}

  void discover(const cage::Call&, cage::Snapshot& out) override {
    for (std::int64_t i = 0; i < cards_; ++i) {
      cage::Device card("card-" + std::to_string(i), "card");
      card.pci("0000:3b:00.0").numa(1).attribute("model", model_).attribute("cores", 64).attribute("ecc", true);
      card.attribute("driver", cage::Version{"1.2.3"}).attribute("lanes", std::vector<std::int64_t>{4, 8});
      card.capacity("memory", cage::Quantity::gib(2));
      if (i == 1) {
        cage::Health hot = cage::Health::bad("TooHot", "93 degrees", cage::Taint::no_schedule);
        hot.timeout = std::chrono::seconds(30);
        card.health(hot);
      }
      out.add(card);
    }
    out.add(cage::Device("part-0", "part").parent("card-0").shared());
    out.counter_set("card-0", {{"slots", cage::Quantity::count(4)}});
    out.consumes("card-0", "card-0", {{"slots", cage::Quantity::count(4)}});
    out.consumes("part-0", "card-0", {{"slots", cage::Quantity::count(1)}});
  }

  void prepare(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits) override {
    if (quiesced_) throw cage::Error(CAGE_UNAVAILABLE, "the card is quiesced");
    call.checkpoint();
    edits.of_claim().env("CLAIM", claim.name());
    for (const cage::Allocation& device : claim.allocations()) {
      cage::Edit edit = edits.of(device);
      edit.env("DEVICE", device.device()).env("REQUEST", device.request()).env("MODE", device.params().text("mode"));
      edit.device_node({"/dev/" + std::string(device.device()), "/dev/null", "rw", "c", 1, 3});
      edit.mount({"/etc", "/host-etc", {"ro", "rbind"}});
      edit.hook({"createContainer", "/bin/true", {"hook", "now"}, {}, 5});
      edit.net_device("eth9", "net0").group(44);
    }
    edits.save(claim.uid());
  }

  void unprepare(const cage::Call&, const cage::Claim& claim) override { check_state(claim); }
  void check(const cage::Call&, std::string_view device) override {
    host_.health(device, cage::Health::ok());
    host_.rescan();
  }
  void quiesce(const cage::Call&) override { quiesced_ = true; }
  void resume(const cage::Call&) override { quiesced_ = false; }
  void reconcile(const cage::Call&, const std::vector<cage::Claim>& live) override {
    for (const cage::Claim& claim : live) check_state(claim);
  }
  std::vector<std::string> prefer(const cage::Call&, const cage::Wish& wish) override {
    return {wish.available.rbegin(), wish.available.rbegin() + wish.count};
  }
  void pre_start(const cage::Call&, const cage::Claim& claim) override { check_state(claim); }

 private:
  static void check_state(const cage::Claim& claim) {
    if (claim.state() != claim.uid() || claim.state_version() != state_version)
      throw cage::Error(CAGE_FAILED_PRECONDITION, "this is not the state that was saved");
  }

  cage::Host host_;
  std::int64_t cards_;
  std::string model_;
  bool quiesced_ = false;
};

}  // namespace

CARDCAGE_MODULE(Card)
