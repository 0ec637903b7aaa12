// Uses all of sdk.hpp, so that tests can check each part on the other side of the ABI.
#include <cardcage/sdk.hpp>

#include <stdexcept>

namespace {

class Everything final : public cage::Module {
 public:
  static constexpr std::string_view id = "test.everything", version = "1.2.3", vendor = "Tests";
  static constexpr std::uint32_t state_version = 7, flags = CAGE_MODULE_PROCESS_ONLY;
  static constexpr cage_str faults[] = {CAGE_LIT("none"), CAGE_LIT("error"), CAGE_LIT("standard"), CAGE_LIT("memory"),
                                        CAGE_LIT("odd")};
  static constexpr cage::Option declared_options[] = {
      cage::Option::text("fault", "none", "which exception").one_of(faults),
      cage::Option::integer("number", "5", "a number").range(1, 9).live(),
      cage::Option::boolean("flag", "true", "a flag"),
      cage::Option::duration("pause", "250ms", "how long prepare sleeps"),
      cage::Option::list("names", "[\"a\", \"b\"]", "some names"),
      cage::Option::text("token", "", "a password").secret(),
  };
  static constexpr cage::Option declared_params[] = {cage::Option::text("mode", "fast", "a mode")};
  static constexpr std::string_view params_api_version = "test/v1", params_kind = "Everything";

  Everything(const cage::Call& call, cage::Host host, const cage::Values& options)
      : host_(host), fault_(options.text("fault")), pause_(options.duration("pause")) {
    host_.info() << "call " << call.id() << " number " << options.integer("number") << " flag "
                 << options.boolean("flag") << " names " << options.list("names").size() << " given "
                 << options.given("number");
    fail_if_told();
  }

  void start(const cage::Call&) override { host_.debug() << "started"; }
  void stop(const cage::Call&) override { host_.warn() << "stopped"; }

  void discover(const cage::Call&, cage::Snapshot& out) override {
    fail_if_told();
    out.add(cage::Device("whole", "gpu")
                .pci("0000:3b:00.0")
                .numa(0)
                .numa(1)
                .attribute("model", "X1")
                .attribute("owned", std::string("text"))
                .attribute("cores", 64U)
                .attribute("signed", std::int64_t{-1})
                .attribute("ecc", true)
                .attribute("driver", cage::Version{"1.2.3"})
                .capacity("memory", cage::Quantity::gib(2))
                .capacity("slots", cage::Quantity::count(3))
                .health(cage::Health::bad("Fan", "the fan is stuck", cage::Taint::no_execute)));
    out.add(cage::Device("part", "gpu").parent("whole").shared());
    if (!out.has_counters()) return;
    out.counter_set("whole", {{"memory", cage::Quantity::bytes(2)}});
    out.consumes("part", "whole", {{"memory", cage::Quantity::bytes(1)}});
  }

  void prepare(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits) override {
    call.sleep(pause_);
    fail_if_told();
    edits.of_claim()
        .env("CLAIM", claim.uid())
        .env("PLACE", std::string(claim.name_space()) + "/" + std::string(claim.name()));
    for (const cage::Allocation& device : claim.allocations()) {
      cage::DeviceNode node;
      node.path = "/dev/" + std::string(device.device());
      node.host_path = "/dev/null";
      node.permissions = "rw";
      cage::Edit edit = edits.of(device);
      edit.device_node(node).device_node("/dev/second").net_device("eth9", "net0").group(44);
      edit.mount(cage::Mount{"/host", "/inside", {"ro", "bind"}});
      edit.hook(cage::Hook{"createContainer", "/bin/hook", {"hook", "now"}});
      edit.env("REQUEST", device.request()).env("SHARE", device.share()).env("ADMIN", device.admin() ? "yes" : "no");
      edit.env("MODE", device.params().text("mode"));
      for (const auto& [name, amount] : device.consumed()) edit.env(name, std::to_string(amount.value));
    }
    edits.save("state of " + std::string(claim.uid()));
  }

  void unprepare(const cage::Call& call, const cage::Claim& claim) override {
    call.checkpoint();
    if (claim.state() != "state of " + std::string(claim.uid()) || claim.state_version() != state_version) {
      throw cage::Error(CAGE_FAILED_PRECONDITION, "not the state that was saved");
    }
  }

  void check(const cage::Call&, std::string_view device) override { host_.health(device, cage::Health::ok()); }

  void reconcile(const cage::Call&, const std::vector<cage::Claim>& live) override {
    for (const cage::Claim& claim : live) host_.error() << "live " << claim.uid();
    host_.rescan();
  }

  std::vector<std::string> prefer(const cage::Call&, const cage::Wish& wish) override {
    std::vector<std::string> chosen;
    for (std::uint32_t i = 0; i < wish.count; ++i) chosen.emplace_back(wish.available[wish.available.size() - 1 - i]);
    return chosen;
  }

  void pre_start(const cage::Call& call, const cage::Claim& claim) override {
    call.checkpoint();
    host_.info() << "about to start " << claim.allocations().at(0).device() << " of " << claim.uid() << " with "
                 << claim.state();
  }

 private:
  void fail_if_told() const {
    if (fault_ == "error") throw cage::Error(CAGE_UNAVAILABLE, "told to fail");
    if (fault_ == "standard") throw std::logic_error("a standard exception");
    if (fault_ == "memory") throw std::bad_alloc();
    if (fault_ == "odd") throw 42;
  }

  cage::Host host_;
  std::string fault_;
  std::chrono::nanoseconds pause_;
};

}  // namespace

CARDCAGE_MODULE(Everything)
