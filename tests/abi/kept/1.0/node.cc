// A module in C++ that uses what cardcage/sdk.hpp 1.0 offers beside what card.cc uses. It behaves as node.c does.
#include <cardcage/sdk.hpp>

namespace {

constexpr cage::Option fields[] = {
    cage::Option::text("sharing.strategy", "none", "how it is shared"),
    cage::Option::map("sharing.limits", "by process"),
    cage::Option::integer("clock", "0", "MHz").class_only(),
};
constexpr cage_str kinds[] = {CAGE_LIT("card")};

class Card final : public cage::Module {
 public:
  static constexpr std::string_view id = "kept.card", version = "1.0.0", vendor = "Cardcage";
  static constexpr std::uint32_t flags = CAGE_MODULE_CONCURRENT, claim_call_limit_s = 600;
  static constexpr cage::Option declared_options[] = {
      cage::Option::integer("level", "1", "may change while it runs").live(),
      cage::Option::text("program", "", "prepare runs it, and keeps it as a service with an argument"),
      cage::Option::text("reset_file", "", "prepare writes 1 to it"),
  };
  static constexpr cage::Schema declared_schemas[] = {
      cage::Schema::of<fields>("kept.cardcage.dev/v1", "CardConfig").devices(kinds)};
  static constexpr auto level = cage::gauge("level", "set");
  static constexpr auto errors = cage::counter("errors_total", "seen", "place");
  static constexpr auto declared_metrics = std::tie(level, errors);
  static constexpr auto declared_kernel_log = cage::texts("card: "), declared_uevents = cage::texts("card");

  Card(const cage::Call&, cage::Host host, const cage::Values& options)
      : host_(host),
        level_(options.integer("level")),
        program_(options.text("program")),
        reset_file_(options.text("reset_file")) {}

  void discover(const cage::Call&, cage::Snapshot& out) override {
    cage::Device card("CARD-7f3a", "card");
    card.name("card-0");
    card.health(cage::Health::bad("TooHot", "93 degrees")
                    .about("Temperature")
                    .tainted(cage::Taint::inform, "kept.cardcage.dev/hot", "very"));
    out.add(card);
  }

  void prepare(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits) override {
    if (quiesced_) throw cage::Error(CAGE_UNAVAILABLE, "the card is quiesced");
    edits.journal("begun");
    call.progress("writing the bitstream", 40);
    const std::vector<cage::Allocation> cards = claim.allocations();
    const cage::Allocation& card = cards.front();
    const cage::Values params = card.params();
    std::string limits;
    for (const auto& [key, value] : params.map("sharing.limits"))
      limits += std::string(key) + "=" + std::string(value) + ";";
    cage::Edit edit = edits.of(card);
    edit.env("LIMITS", limits).env("STRATEGY", params.text("sharing.strategy"));
    edit.env("FROM", params.source("sharing.strategy") == cage::Source::claim ? "claim" : "elsewhere");
    edit.env("KIND", params.kind()).env("SYSFS", host_.sysfs()).env_list("CARDS", card.device());
    if (!program_.empty()) use_the_node(call, edits);
  }

  void unprepare(const cage::Call& call, const cage::Claim& claim) override {
    if (claim.journal() != "begun") throw cage::Error(CAGE_FAILED_PRECONDITION, "the journal is lost");
    if (!program_.empty()) host_.stop_service(call, "helper");
  }

  void configure(const cage::Call&, const cage::Values& options) override { level_ = options.integer("level"); }
  void quiesce_device(const cage::Call&, std::string_view) override { quiesced_ = true; }
  void resume_device(const cage::Call&, std::string_view) override { quiesced_ = false; }
  void collect_metrics(const cage::Call&, cage::Samples& out) override {
    out.add_own(level, static_cast<double>(level_));
    out.add(errors, "CARD-7f3a", 3.0, "dram");
  }
  void collect_labels(const cage::Call&, cage::Labels& out) override { out.add("kept.cardcage.dev/driver", "1.2"); }
  void events(const cage::Call&, const cage::Events& events) override {
    for (const auto& event : events.all)
      host_.health("CARD-7f3a", events.lost ? cage::Health::unknown("KernelSaid", std::string(event.text))
                                            : cage::Health::bad("KernelSaid", std::string(event.text)));
  }

 private:
  void use_the_node(const cage::Call& call, cage::Edits& edits) {
    const cage::ProgramResult result =
        host_.run(call, {program_, {"0"}, {"PATH=/usr/bin:/bin"}, std::chrono::seconds(5)});
    edits.of_claim().env("EXIT", std::to_string(result.exit_status));
    host_.start_service(call, "helper", {program_, {"1000"}, {"PATH=/usr/bin:/bin"}, {}});
    host_.write_file(call, {"CARD-7f3a", reset_file_, "1", std::chrono::seconds(5)});
  }

  cage::Host host_;
  std::int64_t level_;
  std::string program_, reset_file_;
  bool quiesced_ = false;
};

}  // namespace

CARDCAGE_MODULE(Card)
