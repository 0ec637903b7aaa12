// Uses all of sdk.hpp, so that tests can check each part on the other side of the ABI.
#include <cardcage/sdk.hpp>

#include <stdexcept>

namespace {

// With C++20, designated initialisers would suffice.
constexpr cage::Cause hot() {
  cage::Cause cause;
  cause.name = "Temperature";
  cause.help = "the hottest sensor";
  cause.unit = "Cel";
  cause.limit = cage::Limit::above(95, 90.5);
  cause.severity = cage::Severity::degraded;
  cause.hold_down = std::chrono::seconds(30);
  return cause;
}
constexpr cage::Cause fallen() {
  cage::Cause cause;
  cause.name = "Xid";
  cause.help = "the driver reported an error";
  cause.event = true;
  cause.recovery = cage::Recovery::silence;
  cause.recovery_time = std::chrono::hours(1);
  cause.relapses = 3;
  cause.window = std::chrono::hours(24);
  cause.taint = cage::Taint::no_schedule;
  cause.taint_key = "example.com/xid";
  cause.taint_value = "seen";
  return cause;
}

class Everything final : public cage::Module {
 public:
  static constexpr std::string_view id = "test.everything", version = "1.2.3", vendor = "Tests";
  static constexpr auto needed_families = cage::texts(CAGE_HOST_EXEC, CAGE_EXT_PRE_START);
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
  static constexpr cage::Option fields[] = {
      cage::Option::text("mode", "fast", "a mode"),
      cage::Option::map("limits.memory", "by container").range(0, 4).quantity(),
      cage::Option::integer("limits.clock", "0", "in MHz").class_only(),
      cage::Option::list("routes", "[]", "of the pod").objects(),
  };
  static constexpr cage::Option little_fields[] = {cage::Option::boolean("quiet", "false", "less noise")};
  static constexpr cage_str gpus[] = {CAGE_LIT("gpu")};
  static constexpr cage::Schema declared_schemas[] = {
      cage::Schema::of<fields>("test/v1", "Everything").devices(gpus).by_default(),
      cage::Schema::of<little_fields>("test/v1", "Little").whole(),
  };
  static constexpr auto heat = cage::gauge("temperature_celsius", "of the hottest sensor");
  static constexpr auto errors = cage::counter("link_errors_total", "since the reset", "link", "way");
  static constexpr auto declared_metrics = std::tie(heat, errors);
  static constexpr cage::Cause declared_causes[] = {hot(), fallen(), {"Ecc", "errors in memory"}, {"Link", "the link"}};
  static constexpr auto declared_kernel_log = cage::texts("test: one", "test: two");
  static constexpr auto declared_uevents = cage::texts("pci");

  Everything(const cage::Call& call, cage::Host host, const cage::Values& options)
      : host_(host), fault_(options.text("fault")), pause_(options.duration("pause")) {
    host_.info() << "call " << call.id() << " number " << options.integer("number") << " flag "
                 << options.boolean("flag") << " names " << options.list("names").size() << " given "
                 << options.given("number");
    fail_if_told();
  }

  void configure(const cage::Call&, const cage::Values& options) override {
    host_.info() << "number is " << options.integer("number");
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
                .attribute("owned", std::string(63, 'x') + "\u00e9 and more")
                .attribute("cores", 64U)
                .attribute("signed", std::int64_t{-1})
                .attribute("ecc", true)
                .attribute("driver", cage::Version{"1.2.3"})
                .attribute("lanes", std::vector<std::int64_t>{4, 8})
                .attribute("ports", std::vector<bool>{true, false})
                .attribute("modes", std::vector<std::string>{"fast", "quiet\n"})
                .attribute("firmwares", std::vector<cage::Version>{{"1.0.0"}, {"2.0.0"}})
                .capacity("memory", cage::Quantity::gib(2))
                .capacity("slots", cage::Quantity::count(3))
                .health(cage::Health::bad("Fan", "the fan is stuck", cage::Taint::no_execute)));
    out.add(cage::Device("part", "gpu")
                .name("half")
                .parent("whole")
                .shared()
                .capacity("memory", cage::Quantity::bytes(8))
                .capacity("cores", cage::Quantity::count(2)));
    if (out.has_policies()) report_policies(out);
    if (out.has_bindings()) out.binding("whole", {{"Ready", "example.com/Attached"}, {"Failed"}, true});
    if (!out.has_counters()) return;
    out.counter_set("whole", {{"memory", cage::Quantity::bytes(2)}});
    out.consumes("part", "whole", {{"memory", cage::Quantity::bytes(1)}});
  }

  static void report_policies(cage::Snapshot& out) {
    cage::RequestPolicy memory;
    memory.default_amount = cage::Quantity::bytes(2);
    memory.min = cage::Quantity::bytes(1);
    memory.max = cage::Quantity::bytes(4);
    memory.step = cage::Quantity::bytes(1);
    out.policy("part", "memory", memory);
    out.policy("part", "cores",
               {cage::Quantity::count(1), {cage::Quantity::milli(500), cage::Quantity::count(1)}, {}, {}, {}});
  }

  void prepare(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits) override {
    call.progress("sleeping", 10);
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
      edit.device_node(node).device_node("/dev/second").net_device("eth9", "net0").group(44).locked_memory(1 << 20);
      edit.ld_path("/lib").ld_path("/compat", "libcuda.so.580").proc_text("/proc/x", "1\n");
      edit.mount(cage::Mount{"/host", "/inside", {"ro", "bind"}});
      edit.hook(cage::Hook{"createContainer", "/bin/hook", {"hook", "now"}});
      edit.env("REQUEST", device.request()).env("SHARE", device.share()).env("ADMIN", device.admin() ? "yes" : "no");
      const cage::Values params = device.params();
      edit.env("MODE", params.text("mode")).env("KIND", params.kind()).env_list("ALL", device.device());
      edit.env("FROM", params.source("mode") == cage::Source::claim ? "claim" : "other");
      for (const auto& [name, limit] : params.map("limits.memory")) edit.env(name, limit);
      for (const auto& [name, amount] : device.consumed()) edit.env(name, std::to_string(amount.value));
      edit.condition(cage::Condition::yes("Ready", "Linked", "up")).condition(cage::Condition::no("Busy", "Idle"));
      edit.data(R"({"a":1})").network({"net1", {"10.1.2.3/24", "::1/64"}, "02:00"});
      edit.describe(cage::Description().attribute("model", "X1").attribute("slot", 3));
    }
    if (edits.has_journal())
      edits.journal("undo " + std::string(claim.uid()) + " after " + std::string(claim.journal()));
    edits.save("state of " + std::string(claim.uid()));
  }

  void unprepare(const cage::Call& call, const cage::Claim& claim) override {
    call.checkpoint();
    if (claim.state() != "state of " + std::string(claim.uid()) || claim.state_version() != state_version) {
      throw cage::Error(CAGE_FAILED_PRECONDITION, "not the state that was saved");
    }
  }

  // Logs the errors.
  void check(const cage::Call& call, std::string_view device) override {
    try {
      try_check(call, device);
    } catch (const cage::Error& error) {
      host_.info() << error.what() << " (status " << error.status() << ")";
      throw;
    }
  }

  // Runs a program for a device "run:<program>" and logs its outcome, and accesses the hardware for "write:<device>".
  void try_check(const cage::Call& call, std::string_view device) {
    if (device == "causes") {
      host_.health(device,
                   cage::Health::unmonitored("NoEvents", "no events").about("Link").tainted(cage::Taint::inform));
      host_.health(device, cage::Health::bad("Dbe", "bank 3")
                               .about("Ecc")
                               .tainted(cage::Taint::no_schedule, "example.com/ecc", "bank-3"));
      host_.health(device, cage::Health::degraded("Hot", "96 degrees").about("Temperature").measured(96.5));
      return;
    }
    if (device.substr(0, 6) == "write:") return write(call, std::string(device.substr(6)));
    if (device.substr(0, 5) == "keep:") {
      host_.start_service(call, "helper", {std::string(device.substr(5)), {"-q", "all"}, {"A=b"}, {}});
      return host_.stop_service(call, "helper");
    }
    if (device.substr(0, 4) != "run:") return host_.health(device, cage::Health::ok());
    const cage::ProgramResult ran =
        host_.run(call, {std::string(device.substr(4)), {"-q", "all"}, {"A=b"}, std::chrono::milliseconds(1500), "in"});
    host_.info() << "exit " << ran.exit_status << " cut " << ran.cut << " late " << ran.timed_out << ": " << ran.out;
  }

  void write(const cage::Call& call, const std::string& device) {
    host_.write_file(call, {device, "/sys/reset", "1", std::chrono::milliseconds(1500)});
    std::uint64_t argument = 7;
    cage::Ioctl ioctl;
    ioctl.device = device;
    ioctl.path = "/dev/card";
    ioctl.request = 0x5413;
    ioctl.data_path = "/lib/bits";
    ioctl.data_sha256 = "4a5e";
    ioctl.data_start = 128;
    ioctl.exclusive = true;
    host_.ioctl(call, ioctl, argument);
    host_.info() << "the argument is " << argument;
    host_.bind_driver(call, device, "0000:3b:00.0", "vfio-pci");
    host_.restore_driver(call, device, "0000:3b:00.0");
  }

  void bind(const cage::Call& call, const cage::Claim& claim, cage::Conditions& out) override {
    call.checkpoint();
    for (const cage::Allocation& device : claim.allocations()) {
      out.state(device, cage::Condition::yes("Ready", "Loaded"));
      out.state(device, cage::Condition::unknown("example.com/Attached", "Asked", "the fabric has not answered"));
      out.state(device, cage::Condition::no("Failed", "NoFault"));
    }
  }

  void reconcile(const cage::Call&, const std::vector<cage::Claim>& live) override {
    for (const cage::Claim& claim : live) host_.error() << "live " << claim.uid();
    host_.rescan();
  }

  std::vector<std::string> prefer(const cage::Call&, const cage::Wish& wish) override {
    std::vector<std::string> chosen;
    for (std::uint32_t i = 0; i < wish.count; ++i) chosen.emplace_back(wish.available[wish.available.size() - 1 - i]);
    return chosen;
  }

  void quiesce_device(const cage::Call& call, std::string_view device) override {
    call.checkpoint();
    host_.info() << "released " << device;
  }
  void resume_device(const cage::Call&, std::string_view device) override { host_.info() << "took back " << device; }

  void reset(const cage::Call& call, std::string_view device) override {
    call.checkpoint();
    host_.health(device, cage::Health::ok().about("Ecc"));
    host_.info() << "reset " << device;
  }

  void pre_start(const cage::Call& call, const cage::Claim& claim) override {
    call.checkpoint();
    host_.info() << "about to start " << claim.allocations().at(0).device() << " of " << claim.uid() << " with "
                 << claim.state();
  }

  void attach(const cage::Call& call, const cage::Claim& claim, const cage::Pod& pod) override {
    call.checkpoint();
    host_.info() << "attach " << claim.uid() << " of '" << claim.resource() << "' to " << pod.name_space() << "/"
                 << pod.name() << " (" << pod.uid() << ") in " << pod.network_namespace() << " at "
                 << pod.network_namespace_path() << " by " << pod.route_socket();
  }
  void detach(const cage::Call& call, const cage::Claim& claim, const cage::Pod& pod) override {
    call.checkpoint();
    host_.info() << "detach " << claim.uid() << " from " << pod.name();
  }

  void collect_metrics(const cage::Call&, cage::Samples& out) override {
    out.add(heat, "whole", 41.5);
    if (!out.add(errors, "whole", 3, std::string("0"), "up")) host_.warn() << "refused";
    out.add_own(heat, 20);
  }
  void collect_labels(const cage::Call&, cage::Labels& out) override {
    if (!out.add("test.example.com/driver", "1.2.3")) host_.warn() << "refused";
  }
  void collect_catalogue(const cage::Call& call, cage::Catalogue& out) override {
    call.checkpoint();
    out.add(cage::Entry("bitstream", "aes")
                .detail("AES at 300 MHz")
                .attribute("part", "xcu250")
                .attribute("clocks", std::vector<std::int64_t>{300, 500})
                .attribute("shell", cage::Version{"1.2.3"}));
    if (!out.add(cage::Entry("bitstream", "old").refused("old.toml: key 'part' is missing; add it")))
      host_.warn() << "refused";
  }
  void events(const cage::Call&, const cage::Events& events) override {
    if (events.lost) host_.warn() << "lost";
    for (const cage::Event& event : events.all) {
      if (event.type == cage::Event::Type::kernel_log && event.time.time_since_epoch() == std::chrono::seconds(7))
        host_.info() << "message " << event.text;
      if (event.type != cage::Event::Type::descriptor) continue;
      host_.poll(event.descriptor);
      host_.stop_polling(event.descriptor);
    }
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
