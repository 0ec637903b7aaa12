// NVIDIA GPUs and their MIG instances as a module: docs/nvidia.md.
#include <cardcage/sdk.hpp>

#include <chrono>
#include <string_view>

#include "modules/common/timer.h"
#include "modules/nvidia/claims.h"
#include "modules/nvidia/devices.h"
#include "modules/nvidia/driver.h"
#include "modules/nvidia/health/declared_causes.h"
#include "modules/nvidia/health/monitor.h"
#include "modules/nvidia/links.h"
#include "modules/nvidia/metrics/figures.h"
#include "modules/nvidia/metrics/metrics.h"
#include "modules/nvidia/node_labels.h"
#include "modules/nvidia/platform.h"
#include "modules/nvidia/reset.h"

namespace cardcage::nvidia {
namespace {

constexpr cage_str kMigModes[] = {CAGE_LIT("static"), CAGE_LIT("dynamic")};
constexpr cage_str kLeftovers[] = {CAGE_LIT("report"), CAGE_LIT("wait"), CAGE_LIT("end")};
constexpr cage_str kLabelStrategies[] = {CAGE_LIT("none"), CAGE_LIT("single"), CAGE_LIT("mixed")};
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr cage_str kGpu[] = {CAGE_LIT("gpu")}, kMig[] = {CAGE_LIT("mig")}, kVfio[] = {CAGE_LIT("vfio")};
constexpr std::string_view kApiVersion = "resource.nvidia.com/v1beta1";

Offer offer_of(const cage::Values& options) {
  return {.mig = options.text("mig") == "dynamic" ? MigMode::kDynamic : MigMode::kStatic,
          .passthrough = options.boolean("passthrough"),
          .memory_shares = options.boolean("memory_shares")};
}

// Rejects options that need claims to have a GPU to themselves, together with shared memory.
void require_compatible(const cage::Values& options) {
  if (!options.boolean("memory_shares")) return;
  const auto refuse = [](bool given, std::string_view option) {
    if (given)
      throw cage::Error(CAGE_INVALID_ARGUMENT, "option 'memory_shares' lets several claims use a GPU, and " +
                                                   std::string(option) +
                                                   " is for GPUs that one claim has; remove one of them");
  };
  refuse(options.text("mig") == "dynamic", "mig = \"dynamic\"");
  refuse(options.boolean("passthrough"), "'passthrough'");
  refuse(options.boolean("reset_after_use"), "'reset_after_use'");
  refuse(options.text("leftover_processes") != "report", "'leftover_processes'");
}

ClaimPolicy policy_of(const cage::Values& options) {
  const std::string_view leftovers = options.text("leftover_processes");
  return {.capabilities = parse_capabilities(options.list("driver_capabilities")),
          .companions = {.gds = options.boolean("gds"),
                         .gdrcopy = options.boolean("gdrcopy"),
                         .mofed = options.boolean("mofed")},
          .leftovers = leftovers == "end"    ? Leftovers::kEnd
                       : leftovers == "wait" ? Leftovers::kWait
                                             : Leftovers::kReport,
          .reset = options.boolean("reset_after_use"),
          .passthrough = options.boolean("passthrough")};
}

FigureChoice choice_of(cage::Host host, const cage::Values& options) {
  FigureChoice choice(options);
  for (const std::string& figure : choice.unknown())
    host.warn() << "the figure '" << figure << "' is unknown and not reported; docs/nvidia.md, 'Metrics', lists all";
  return choice;
}

class Nvidia final : public cage::Module {
 public:
  static constexpr std::string_view id = "dev.cardcage.nvidia", version = "0.1.0", vendor = "Cardcage";
  static constexpr std::uint32_t state_version = 1;
  static constexpr auto needed_families = cage::texts(CAGE_EDITS_JOURNAL);
  static constexpr auto declared_uevents = cage::texts("module", "pci");
  static constexpr auto declared_kernel_log = cage::texts("NVRM: Xid");
  static constexpr auto declared_metrics = figures::all;
  static constexpr auto& declared_causes = kDeclaredCauses;
  static constexpr cage::Option declared_options[] = {
      cage::Option::list("driver_capabilities", R"(["compute", "utility"])",
                         "what containers get of the driver: compute, utility, video, graphics, display, all"),
      cage::Option::boolean("gdrcopy", "false", "give containers /dev/gdrdrv, for GDRCopy"),
      cage::Option::boolean("gds", "false", "give containers /dev/nvidia-fs*, for GPUDirect Storage"),
      cage::Option::boolean("mofed", "false", "give containers the verbs devices in /dev/infiniband, for RDMA"),
      cage::Option::text("mig", "static", "offer the MIG instances that exist, or make them for claims")
          .one_of(kMigModes),
      cage::Option::duration("health_interval", "1s",
                             "how often errors of GPUs are read; every tenth time their counters and sensors, too")
          .range(kMillisecond, 60'000 * kMillisecond),
      cage::Option::text("label_mig_strategy", "none",
                         "labels of MIG instances: none, those of the GPUs instead, or those of each profile, too")
          .one_of(kLabelStrategies),
      cage::Option::list("label_replicas", "[]",
                         "how many containers share each device of a resource, for labels: gpu=4, mig-1g.10gb=2"),
      cage::Option::boolean("label_timestamp", "true", "label the node with the time at which the module began"),
      cage::Option::text("leftover_processes", "report",
                         "processes on a GPU that no claim has: log them, wait for their end, or end them")
          .one_of(kLeftovers),
      cage::Option::boolean("reset_after_use", "false", "reset a whole GPU when its claim is released"),
      cage::Option::boolean("memory_shares", "false", "let claims share a GPU, each with a part of its memory"),
      cage::Option::list("metrics", "[]", "names of the figures that are reported; by default dcgm-exporter's"),
      cage::Option::text("metrics_file", "", "a list of dcgm-exporter (CSV) that names them"),
      cage::Option::text("mps_root", "/run/nvidia/mps", "where the folders of MPS control daemons are"),
      cage::Option::boolean("passthrough", "false", "offer whole GPUs to virtual machines, too"),
      cage::Option::text("vfio_driver", "", "the kernel's driver for them; empty = the one that fits each best"),
  };
  static constexpr cage::Schema declared_schemas[] = {
      cage::Schema::of<kGpuFields>(kApiVersion, "GpuConfig").devices(kGpu).whole(),
      cage::Schema::of<kMigFields>(kApiVersion, "MigDeviceConfig").devices(kMig).whole(),
      cage::Schema::of<kVfioFields>(kApiVersion, "VfioDeviceConfig").devices(kVfio).whole(),
  };

  Nvidia(const cage::Call&, cage::Host host, const cage::Values& options)
      : host_(host),
        health_interval_(options.duration("health_interval")),
        offer_(offer_of(options)),
        label_policy_(label_policy(options)),
        driver_(
            {.sysfs = host.sysfs(), .procfs = host.procfs(), .devfs = host.devfs(), .driver_root = host.driver_root()},
            host, offer_.mig == MigMode::kDynamic),
        monitor_(driver_, host, offer_, health_interval_),
        metrics_(driver_, monitor_, offer_, choice_of(host, options)),
        claims_(driver_, host, policy_of(options), Mps(host, options.text("mps_root"), host.driver_root()),
                Passthrough(driver_, host, std::string(options.text("vfio_driver")))) {
    require_compatible(options);
  }

  void start(const cage::Call&) override {
    if (const std::string unserved = unserved_platform(driver_.node()); !unserved.empty()) host_.warn() << unserved;
    timer_.start(health_interval_);
  }
  void stop(const cage::Call&) override { timer_.stop(); }
  void discover(const cage::Call&, cage::Snapshot& snapshot) override {
    auto functions = offer_.passthrough ? read_pci_gpus(driver_.node()) : std::vector<PciGpu>();
    if (!functions.empty()) add_products(driver_.node(), functions);
    report_devices(quiesced_ ? driver_.inventory() : driver_.look(), functions, offer_, snapshot);
    monitor_.keep_statements(driver_.inventory());
  }
  void prepare(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits) override {
    require_in_service();
    claims_.prepare(call, claim, edits);
  }
  void unprepare(const cage::Call& call, const cage::Claim& claim) override {
    if (claims_.needs_hardware(claim)) require_in_service();
    if (!quiesced_) claims_.unprepare(call, claim);
  }
  void reconcile(const cage::Call&, const std::vector<cage::Claim>& live) override {
    if (offer_.mig == MigMode::kDynamic && !quiesced_) claims_.remove_strangers(live);
  }
  std::vector<std::string> prefer(const cage::Call&, const cage::Wish& wish) override {
    require_in_service();
    std::vector<std::string> gpu_of;
    for (const std::string_view device : wish.available) {
      const Target target = find_target(driver_.inventory(), device);
      gpu_of.push_back(target.gpu != nullptr ? target.gpu->gpu.uuid : std::string());
    }
    return closeness().choose(wish.available, gpu_of, wish.required, wish.count);
  }
  void collect_labels(const cage::Call&, cage::Labels& labels) override {
    report_labels(driver_.inventory(), driver_.node(), label_policy_, since_, labels);
  }
  void collect_metrics(const cage::Call&, cage::Samples& samples) override {
    if (!quiesced_) metrics_.collect(samples);
  }
  void quiesce(const cage::Call&) override {
    quiesced_ = true;
    driver_.close();
  }
  void resume(const cage::Call&) override { quiesced_ = false; }
  void quiesce_device(const cage::Call&, std::string_view device) override {
    if (const std::string bus_id = bus_id_of(device); !bus_id.empty()) driver_.release(bus_id);
  }
  void resume_device(const cage::Call&, std::string_view device) override { driver_.take_back(bus_id_of(device)); }
  void reset(const cage::Call& call, std::string_view device) override {
    require_in_service();
    const Gpu gpu = gpu_to_reset(driver_, device, offer_);
    reset_together(call, driver_, {gpu});
    driver_.look();
    monitor_.start_anew(gpu.bus_id);
    host_.rescan();  // its partitions are gone
  }
  // The timer has expired, the kernel has logged an error of a GPU, its module was loaded or removed, or a GPU was
  // bound to another driver.
  void events(const cage::Call&, const cage::Events& events) override {
    bool is_due = false, ours = events.lost;
    for (const cage::Event& event : events.all) {
      if (event.type == cage::Event::Type::kernel_log) monitor_.take_kernel_message(event.text);
      is_due = timer_.take(event) || is_due;
      ours = ours || event.text.find("DEVPATH=/module/nvidia") != std::string_view::npos ||
             event.text.find("PCI_ID=10DE:") != std::string_view::npos;
    }
    if (ours) host_.rescan();
    if (is_due && !quiesced_) monitor_.tick();
  }

 private:
  void require_in_service() const {
    if (quiesced_)
      throw cage::Error(CAGE_UNAVAILABLE, "the NVIDIA module is quiesced; resume it: cagectl module resume");
  }
  // Empty for an unknown device.
  std::string bus_id_of(std::string_view device) const {
    if (const Target target = find_target(driver_.inventory(), device); target.gpu != nullptr)
      return target.gpu->gpu.bus_id;
    const auto function = offer_.passthrough ? find_pci_gpu(driver_.node(), device) : std::nullopt;
    return function ? function->bus_id : std::string();
  }
  // Reads the links on first use: most nodes never need them.
  const Closeness& closeness() {
    if (!closeness_ || closeness_generation_ != driver_.generation()) {
      closeness_ = Closeness::read(driver_);
      closeness_generation_ = driver_.generation();
    }
    return *closeness_;
  }

  cage::Host host_;
  const std::chrono::nanoseconds health_interval_;
  const Offer offer_;
  const LabelPolicy label_policy_;
  const std::chrono::system_clock::time_point since_ = std::chrono::system_clock::now();
  Driver driver_;
  Monitor monitor_;
  Metrics metrics_;
  Claims claims_;
  std::optional<Closeness> closeness_;
  unsigned long long closeness_generation_ = 0;
  hardware::Timer timer_{host_};
  bool quiesced_ = false;
};

}  // namespace
}  // namespace cardcage::nvidia

CARDCAGE_MODULE(cardcage::nvidia::Nvidia)
