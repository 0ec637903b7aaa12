#include "tests/bench/nic_figures.h"

#include <fmt/format.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "host/config/params.h"
#include "modules/nic/netlink/links.h"
#include "modules/nic/netlink/objects.h"
#include "tests/bench/loaded_module.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/network_namespace.h"
#include "tests/fakes/pod_namespace.h"
#include "tests/nic/nic_tree.h"

namespace cardcage::bench {
namespace {

constexpr int kCards = 4, kVirtual = 64;

// Discovers on plain files, which the kernel reads as fast as those of sysfs.
Figures nic_discoveries(int rounds) {
  NicTree tree;
  for (int card = 0; card < kCards; ++card) {
    const std::string physical = fmt::format("0000:{:02x}:00.0", 0x10 + card);
    tree.card(physical);
    tree.netdev(fmt::format("ens{}", card), physical);
    tree.attribute(physical, "sriov_numvfs", fmt::format("{}\n", kVirtual));
    for (unsigned i = 0; i < kVirtual; ++i) {
      const std::string function = fmt::format("0000:{:02x}:{:02x}.{}", 0x10 + card, 0x10 + i / 8, i % 8);
      tree.card(function, "igbvf");
      tree.netdev(fmt::format("ens{}v{}", card, i), function);
      tree.virtual_function(physical, i, function);
      tree.iommu_group(function, std::to_string(100 * card + static_cast<int>(i)));
    }
  }
  LoadedModule loaded("nic", Isolation::kProcess, built_module("nic"),
                      {.sysfs = tree.sysfs(), .procfs = "/proc", .devfs = tree.devfs(), .driver = "/"});
  loaded.start();
  if (loaded.snapshot->devices.size() != kCards * kVirtual) throw std::runtime_error("not all functions were found");
  Figures figures;
  for (int i = 0; i < rounds; ++i)
    figures.time([&] { LoadedModule::must(loaded.run(loaded.module->call(DiscoverCall{}, loaded.soon()))); });
  return figures;
}

// The minimal work of the kernel: a move, with the address.
void move_to(const PodNamespace& pod) {
  nic::NetlinkSocket node, inside(pod.pod().route_socket->get());
  nic::change_link(node, ::if_nametoindex("nic0"), {.name = "net1", .network_namespace = pod.descriptor()});
  const std::vector<nic::Link> links = nic::read_links(inside);
  const auto moved = std::ranges::find(links, "net1", &nic::Link::name);
  nic::change_link(inside, moved->index, {.is_up = true});
  nic::add_address(inside, moved->index, nic::object_of(*nic::parse_address("10.1.2.3/24")));
}

struct HandOvers {
  Figures whole, kernel;
};

// Moves a real interface, with the module in a worker. Nothing without the right to make namespaces.
std::optional<HandOvers> hand_overs(int rounds) {
  const NetworkNamespace node;
  const PodNamespace pod;
  if (!node.works() || !pod.works() || !node.ip("link add nic0 address 52:54:00:12:34:56 type veth peer name peer0"))
    return std::nullopt;
  NicTree tree;
  tree.netdev("nic0");
  LoadedModule loaded("nic", Isolation::kProcess, built_module("nic"),
                      {.sysfs = tree.sysfs(), .procfs = "/proc", .devfs = tree.devfs(), .driver = "/"});
  loaded.config.options["interfaces"].value = std::vector<std::string>{"nic0"};
  loaded.start();
  const auto config = decode_params(
      loaded.module->identity(), ConfigSource::kClaim,
      R"({"apiVersion":"nic.cardcage.dev/v1alpha1","kind":"NicConfig","interface":{"name":"net1","addresses":["10.1.2.3/24"]}})");
  HandOvers figures;
  for (int i = 0; i < rounds; ++i) {
    // The described node gets the index of the real interface, which came back by itself.
    tree.netdev_attribute("nic0", "ifindex", std::to_string(::if_nametoindex("nic0")));
    LoadedModule::must(loaded.run(loaded.module->call(DiscoverCall{}, loaded.soon())));
    ModuleClaim claim = LoadedModule::claim(fmt::format("claim-{}", i), "interface/nic0");
    claim.allocations[0].values =
        LoadedModule::must(resolve_params(loaded.module->identity(), "interface", {LoadedModule::must(config)}));
    figures.whole.time([&] {
      const PreparedEdits prepared =
          LoadedModule::must(loaded.run(loaded.module->call(PrepareCall{claim}, loaded.soon())));
      claim.state = prepared.state, claim.state_version = prepared.state_version;
      LoadedModule::must(loaded.run(loaded.module->call(AttachCall{claim, pod.pod()}, loaded.soon())));
    });
    LoadedModule::must(loaded.run(loaded.module->call(DetachCall{claim, pod.pod()}, loaded.soon())));
    LoadedModule::must(loaded.run(loaded.module->call(UnprepareCall{claim}, loaded.soon())));
    figures.kernel.time([&] { move_to(pod); });
    if (!pod.ip("link set net1 name nic0 netns " + std::to_string(::getpid())))
      throw std::runtime_error("the interface does not come back");
  }
  return figures;
}

}  // namespace

void measure_nic(Table& table, bool quick) {
  const Figures discover = nic_discoveries(quick ? 10 : 50);
  table.figure("discover of 4 cards with 64 virtual functions each", discover);
  table.budget("discover of 4 cards with 64 virtual functions each, p50", discover.p50_us() / 1000, 30, "ms");
  const auto moves = hand_overs(quick ? 20 : 200);
  if (!moves) return;
  table.figure("prepare, and move to a pod with an address", moves->whole);
  table.figure("what the kernel takes for the move", moves->kernel);
  table.budget("prepare and move over the kernel's own time, p50",
               (moves->whole.p50_us() - moves->kernel.p50_us()) / 1000, 10, "ms");
}

}  // namespace cardcage::bench
