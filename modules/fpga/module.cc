// FPGA cards as a module: docs/fpga.md.
#include <cardcage/sdk.hpp>

#include <chrono>
#include <set>

#include "modules/common/timer.h"
#include "modules/fpga/claims.h"
#include "modules/fpga/devices.h"
#include "modules/fpga/health/declared_causes.h"
#include "modules/fpga/health/monitor.h"
#include "modules/fpga/inventory.h"
#include "modules/fpga/metrics/metrics.h"
#include "modules/fpga/not_offered.h"

namespace cardcage::fpga {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

class Fpga final : public cage::Module {
 public:
  static constexpr std::string_view id = "dev.cardcage.fpga", version = "0.1.0", vendor = "Cardcage";
  static constexpr std::uint32_t state_version = 1;
  static constexpr auto needed_families = cage::texts(CAGE_EDITS_JOURNAL);
  static constexpr std::uint32_t flags = CAGE_MODULE_CONCURRENT;
  static constexpr std::uint32_t claim_call_limit_s = 900;  // time for a large bitstream over a slow configuration port
  static constexpr auto declared_uevents = cage::texts("pci", "fpga_region", "fpga_manager");
  static constexpr auto declared_metrics = figures::all;
  static constexpr auto& declared_causes = kDeclaredCauses;
  static constexpr cage::Option declared_options[] = {
      cage::Option::duration("health_interval", "5s", "how often the errors and sensors of cards are read")
          .range(kMillisecond, 60'000 * kMillisecond),
      cage::Option::text("catalogue", "/var/lib/cardcage/bitstreams", "the folder of manifests of bitstreams"),
      cage::Option::text("fences", "/run/cardcage/fpga",
                         "a folder in memory that remembers which devices must be programmed again"),
      cage::Option::text("vfio_driver", "vfio-pci", "the kernel's driver for virtual functions of OFS cards"),
      cage::Option::text("xrt_program", "xbutil", "XRT's tool for Alveo cards: xbutil or xrt-smi"),
  };
  static constexpr cage::Schema declared_schemas[] = {cage::Schema::of<kFields>(kApiVersion, kKind)};

  Fpga(const cage::Call&, cage::Host host, const cage::Values& options)
      : health_interval_(options.duration("health_interval")),
        tools_{.node = {.sysfs = host.sysfs(), .procfs = host.procfs(), .devfs = host.devfs()},
               .host = host,
               .passthrough = {host, std::filesystem::path(host.sysfs()), std::filesystem::path(host.devfs()), "FPGA",
                               std::string(options.text("vfio_driver"))},
               .vfio_driver = std::string(options.text("vfio_driver")),
               .xrt_program = std::string(options.text("xrt_program"))},
        catalogue_(std::filesystem::path(options.text("catalogue"))),
        fences_(std::filesystem::path(options.text("fences"))),
        claims_(tools_, catalogue_, fences_) {}

  void start(const cage::Call&) override { timer_.start(health_interval_); }
  void stop(const cage::Call&) override { timer_.stop(); }
  void discover(const cage::Call&, cage::Snapshot& snapshot) override {
    const Targets targets = find_targets(tools_);
    monitor_.list(targets);  // first, so that the next look sees a function that changes from here on
    report_devices(targets, fences_, device_is_changing_, snapshot);
    for (const auto& [name, reason] : find_not_offered(tools_, targets)) snapshot.not_offered(name, reason);
  }
  void collect_catalogue(const cage::Call&, cage::Catalogue& catalogue) override {
    report_catalogue(catalogue_, catalogue);
  }
  void prepare(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits) override {
    require_running(claim);
    claims_.prepare(call, claim, edits);
  }
  void unprepare(const cage::Call& call, const cage::Claim& claim) override {
    require_running(claim);
    claims_.unprepare(call, claim);
  }
  void reconcile(const cage::Call& call, const std::vector<cage::Claim>& live) override {
    claims_.reconcile(call, live);
  }
  void pre_start(const cage::Call& call, const cage::Claim& claim) override {
    require_running(claim);
    claims_.pre_start(call, claim);
  }
  // The module keeps nothing open between calls, so it has nothing to let go of.
  void quiesce(const cage::Call&) override {
    quiesced_ = true;
    monitor_.forget();
  }
  void resume(const cage::Call&) override { quiesced_ = false; }
  void quiesce_device(const cage::Call&, std::string_view device) override { quiesced_devices_.emplace(device); }
  void resume_device(const cage::Call&, std::string_view device) override {
    quiesced_devices_.erase(std::string(device));
  }
  void reset(const cage::Call& call, std::string_view device) override {
    require_running(device);
    const std::string card = claims_.reset(call, device);
    const Targets targets = find_targets(tools_);
    monitor_.start_anew(card, targets);
    for (const auto& target : targets)
      if (target->identity().card == card)
        tools_.host.health(target->identity().id, region_health(*target, fences_, device_is_changing_));
    tools_.host.rescan();  // a card may have lost its function
  }
  void collect_metrics(const cage::Call&, cage::Samples& samples) override {
    report_metrics(monitor_.cards(), samples);
  }
  // Handles the expired timer, and cards or regions that came or went.
  void events(const cage::Call&, const cage::Events& events) override {
    bool is_due = false, ours = events.lost;
    for (const cage::Event& event : events.all) {
      is_due = timer_.take(event) || is_due;
      ours = ours || event.type != cage::Event::Type::descriptor;
    }
    if (ours) tools_.host.rescan();
    if (is_due && !quiesced_) monitor_.look(find_targets(tools_));
  }

 private:
  // Returns whether the kernel is still programming the target for an earlier instance.
  bool is_programmed_elsewhere(const Target& target) {
    return !claims_.is_changing(target.identity().card) && target.is_being_programmed();
  }
  void require_running() const {
    if (quiesced_) throw cage::Error(CAGE_UNAVAILABLE, "the FPGA module is quiesced; resume it: cagectl module resume");
  }
  void require_running(std::string_view device) const {
    require_running();
    if (quiesced_devices_.contains(std::string(device)))
      throw cage::Error(CAGE_UNAVAILABLE,
                        "device '" + std::string(device) + "' is quiesced; resume it: cagectl module resume");
  }
  void require_running(const cage::Claim& claim) const {
    require_running();
    for (const cage::Allocation& allocation : claim.allocations()) require_running(allocation.device());
  }

  const std::chrono::nanoseconds health_interval_;
  const Tools tools_;
  const Catalogue catalogue_;
  const Fences fences_;
  Claims claims_;
  const IsChanging device_is_changing_ = [this](const Target& target) {
    return claims_.is_changing(target.identity()) || is_programmed_elsewhere(target);
  };
  const RunIfUnchanged run_if_unchanged_ = [this](const Target& target, const std::function<void()>& action) {
    return !is_programmed_elsewhere(target) && claims_.run_if_unchanged(target.identity(), action);
  };
  Monitor monitor_{tools_, run_if_unchanged_, health_interval_};
  hardware::Timer timer_{tools_.host};
  bool quiesced_ = false;
  std::set<std::string> quiesced_devices_;  // device ids
};

}  // namespace
}  // namespace cardcage::fpga

CARDCAGE_MODULE(cardcage::fpga::Fpga)
