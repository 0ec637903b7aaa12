// Network devices as a module: docs/nic.md.
#include <cardcage/sdk.hpp>

#include "modules/nic/claims.h"
#include "modules/nic/devices.h"
#include "modules/nic/devlink_watch.h"
#include "modules/nic/health/declared_causes.h"
#include "modules/nic/health/monitor.h"
#include "modules/nic/link_watch.h"
#include "modules/nic/nic.h"
#include "modules/nic/settings.h"
#include "modules/nic/vf_config.h"

namespace cardcage::nic {
namespace {

Choice choice_of(const cage::Values& options) {
  Choice choice;
  for (const std::string_view pattern : options.list("keep")) choice.keep.emplace_back(pattern);
  for (const std::string_view pattern : options.list("interfaces")) choice.interfaces.emplace_back(pattern);
  return choice;
}

class Module final : public cage::Module {
 public:
  static constexpr std::string_view id = "dev.cardcage.nic", version = "0.1.0", vendor = "Cardcage";
  static constexpr std::uint32_t state_version = kStateVersion;
  static constexpr auto needed_families = cage::texts(CAGE_EDITS_JOURNAL);
  static constexpr std::uint32_t flags = CAGE_MODULE_CONCURRENT;
  static constexpr auto declared_uevents = cage::texts("pci", "net", "infiniband", "vdpa");
  static constexpr auto& declared_causes = kDeclaredCauses;
  static constexpr cage::Option declared_options[] = {
      cage::Option::text("device_info", "/var/run/k8s.cni.cncf.io/devinfo",
                         "where Multus and CNI plugins look for files about devices of resources, if it is there"),
      cage::Option::list("keep", "[]", "interfaces that stay with the node, beside those that it uses: [\"eth1\"]"),
      cage::Option::list("interfaces", "[]",
                         "interfaces that are offered without a PCI function, or with an address: [\"veth-pod*\"]"),
      cage::Option::boolean("reset_on_release", "true",
                            "reset virtual functions when their claim ends (FLR); needs the key writes"),
      cage::Option::text("udev", "/run/udev",
                         "where udev keeps which interfaces it has named, which claims wait for if it is there"),
      cage::Option::text("vfio_driver", "vfio-pci", "the kernel's driver for functions that containers drive"),
      cage::Option::boolean("vfio_without_iommu", "false",
                            "give functions that no IOMMU keeps from the node's memory, too (VFIO's noiommu mode)"),
  };
  static constexpr cage::Schema declared_schemas[] = {cage::Schema::of<kFields>(kApiVersion, kKind).by_default(),
                                                      cage::Schema::of<kVfFields>(kVfApiVersion, kVfKind)};

  Module(const cage::Call&, cage::Host host, const cage::Values& options)
      : host_(host),
        node_{.sysfs = host.sysfs(), .procfs = host.procfs(), .devfs = host.devfs()},
        passthrough_(host, node_.sysfs, node_.devfs, "network device", std::string(options.text("vfio_driver")),
                     options.boolean("vfio_without_iommu")),
        links_(host, choice_of(options).interfaces),
        finder_(node_, choice_of(options)),
        claims_(host, node_, passthrough_,
                {.choice = choice_of(options),
                 .vfio_driver = std::string(options.text("vfio_driver")),
                 .resets = options.boolean("reset_on_release"),
                 .device_info = std::filesystem::path(options.text("device_info")),
                 .udev = std::filesystem::path(options.text("udev"))}) {}

  void start(const cage::Call&) override {
    links_.start();
    reporters_.start();
  }
  void stop(const cage::Call&) override {
    reporters_.stop();
    links_.stop();
  }
  void discover(const cage::Call&, cage::Snapshot& snapshot) override {
    const Inventory found = finder_.find(claims_.lent().all());
    report_devices(found, node_, passthrough_, snapshot);
    monitor_.look(found);
  }
  void check(const cage::Call&, std::string_view) override { monitor_.look(finder_.find(claims_.lent().all())); }
  void prepare(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits) override {
    claims_.prepare(call, claim, edits);
  }
  void unprepare(const cage::Call& call, const cage::Claim& claim) override { claims_.unprepare(call, claim); }
  void attach(const cage::Call& call, const cage::Claim& claim, const cage::Pod& pod) override {
    claims_.attach(call, claim, pod);
  }
  void detach(const cage::Call& call, const cage::Claim& claim, const cage::Pod& pod) override {
    claims_.detach(call, claim, pod);
  }
  void reconcile(const cage::Call&, const std::vector<cage::Claim>& live) override { claims_.reconcile(live); }
  void events(const cage::Call&, const cage::Events& events) override {
    bool changed = events.lost;
    for (const cage::Event& event : events.all)
      changed = links_.take(event) || reporters_.take(event) || event.type != cage::Event::Type::descriptor || changed;
    if (changed) host_.rescan();
  }

 private:
  const cage::Host host_;
  const hardware::Node node_;
  const hardware::Passthrough passthrough_;
  LinkWatch links_;
  DevlinkWatch reporters_{host_};
  Finder finder_;
  Monitor monitor_{host_, node_};
  Claims claims_;
};

}  // namespace
}  // namespace cardcage::nic

CARDCAGE_MODULE(cardcage::nic::Module)
