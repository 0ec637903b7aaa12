// IMEX channels of nodes with multi-node NVLink as a module: docs/nvidia.md, "Multi-node NVLink".
#include <cardcage/sdk.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "modules/common/health_statements.h"
#include "modules/common/timer.h"
#include "modules/nvidia/imex/cliques.h"
#include "modules/nvidia/imex/daemon.h"
#include "modules/nvidia/node.h"

namespace cardcage::nvidia {
namespace {

// NVIDIA's driver offers only the first of a node's channels: all workloads of an IMEX domain share it.
constexpr const char* kChannel = "channel-0";
constexpr unsigned kChannelMinor = 0;
constexpr const char* kChannelNode = "/dev/nvidia-caps-imex-channels/channel0";
constexpr const char* kChannelMajor = "nvidia-caps-imex-channels";
constexpr std::uint32_t kChannelMode = 0666;
// A domain's id is the value of a label, and part of paths in NVIDIA's own driver.
constexpr std::size_t kMaxDomainId = 63;
constexpr unsigned kTicksPerLook = 6;

namespace field {
constexpr const char *kDomain = "domainID", *kMode = "allocationMode";
}  // namespace field

constexpr cage_str kChannels[] = {CAGE_LIT("channel")};
constexpr cage_str kModes[] = {CAGE_LIT("Single"), CAGE_LIT("All")};
constexpr cage::Option kChannelFields[] = {
    cage::Option::text(field::kDomain, "", "the UID of the ComputeDomain"),
    cage::Option::text(field::kMode, "Single", "Single, or All; both mean channel 0 where the node runs its own daemon")
        .one_of(kModes),
};

// A path as the node's programs see it, below the driver's root. Empty if it is not given.
std::string below(const std::filesystem::path& root, const std::filesystem::path& path) {
  return path.empty() ? std::string() : (root / path.relative_path()).native();
}

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool is_label_value(std::string_view text) {
  return !text.empty() && text.size() <= kMaxDomainId && is_alphanumeric(text.front()) &&
         is_alphanumeric(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

// The domain that the claim names. Throws cage::Error.
std::string domain_of(const cage::Allocation& device) {
  const std::string request = "request '" + std::string(device.request()) + "': ";
  std::string domain = device.has_params() ? std::string(device.params().text(field::kDomain)) : std::string();
  if (domain.empty())
    throw cage::Error(CAGE_INVALID_ARGUMENT,
                      request + "domainID cannot be empty; use the ResourceClaimTemplate that a ComputeDomain names");
  if (!is_label_value(domain))
    throw cage::Error(CAGE_INVALID_ARGUMENT, request + "domainID '" + domain +
                                                 "' must be the UID of a ComputeDomain: up to 63 letters, digits, "
                                                 "'-', '_' and '.', with a letter or digit at both ends");
  return domain;
}

class Imex final : public cage::Module {
 public:
  static constexpr std::string_view id = "dev.cardcage.nvidia-imex", version = "0.1.0", vendor = "Cardcage";
  // A claim that waits for the daemon delays neither others nor looks at the daemon's health.
  static constexpr std::uint32_t flags = CAGE_MODULE_CONCURRENT, state_version = 1;
  static constexpr auto declared_uevents = cage::texts("module");
  static constexpr auto& declared_causes = kImexCauses;
  static constexpr cage::Option declared_options[] = {
      cage::Option::text(
          "control_socket", "",
          "IMEX_CMD_UNIX_DOMAIN_PATH of nvidia-imex, below the driver's root; empty = its IMEX_CMD_PORT"),
      cage::Option::duration("health_interval", "10s", "how often nvidia-imex-ctl is asked for the daemon's state")
          .range(1'000'000, 600'000'000'000),
  };
  static constexpr cage::Schema declared_schemas[] = {
      cage::Schema::of<kChannelFields>("resource.nvidia.com/v1beta1", "ComputeDomainChannelConfig")
          .devices(kChannels)
          .whole(),
  };

  Imex(const cage::Call&, cage::Host host, const cage::Values& options)
      : host_(host),
        node_{.sysfs = host.sysfs(), .procfs = host.procfs(), .devfs = host.devfs(), .driver_root = host.driver_root()},
        health_interval_(options.duration("health_interval")),
        daemon_(host, below(node_.driver_root, options.text("control_socket"))) {}

  void start(const cage::Call&) override { timer_.start(health_interval_); }
  void stop(const cage::Call&) override { timer_.stop(); }

  void discover(const cage::Call& call, cage::Snapshot& snapshot) override {
    const NodeClique clique = read_clique(node_);
    settled_ = clique.settled;
    const std::string problem = !clique.problem.empty() ? clique.problem
                                : !channel_major() ? "the kernel module has no IMEX channels (NVreg_ImexChannelCount=0)"
                                                   : std::string();
    offered_ = problem.empty();
    if (!offered_) {
      snapshot.not_offered(kChannel, problem);
      return;
    }
    cage::Device channel(kChannel, "channel");
    channel.name(kChannel).health(daemon_.health(call));
    channel.attribute("type", "channel").attribute("id", kChannelMinor);
    channel.attribute("nvidia.cardcage.dev/clique", clique.name);
    snapshot.add(channel);
    statements_.forget(kChannel);
  }

  void prepare(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits) override {
    std::string state;
    for (const cage::Allocation& device : claim.allocations()) state += "domain " + domain_of(device) + "\n";
    const auto major = channel_major();
    if (!major)
      throw cage::Error(CAGE_FAILED_PRECONDITION,
                        std::string("/proc/devices does not list ") + kChannelMajor +
                            "; load NVIDIA's kernel module, with an NVreg_ImexChannelCount that is not 0");
    const bool is_in_use = !claim.state().empty() && !claim.other_boot();
    if (!is_in_use) daemon_.wait_until_ready(call);
    for (const cage::Allocation& device : claim.allocations())
      edits.of(device).device_node({.path = kChannelNode,
                                    .permissions = "rw",
                                    .type = "c",
                                    .major = static_cast<std::int64_t>(*major),
                                    .minor = kChannelMinor,
                                    .mode = kChannelMode});
    edits.save(state);
  }
  // Nothing of a claim stays on a node.
  void unprepare(const cage::Call&, const cage::Claim&) override {}

  // The timer has expired, or the kernel module was loaded or removed.
  void events(const cage::Call& call, const cage::Events& events) override {
    bool is_due = false, ours = events.lost;
    for (const cage::Event& event : events.all) {
      is_due = timer_.take(event) || is_due;
      ours = ours || event.text.find("DEVPATH=/module/nvidia") != std::string_view::npos;
    }
    if (is_due && offered_) statements_.state(kChannel, daemon_.health(call));
    const bool looks_again = is_due && !settled_ && ++ticks_ % kTicksPerLook == 0;
    if (ours || looks_again) host_.rescan();
  }

 private:
  std::optional<unsigned> channel_major() const {
    const Majors majors = read_majors(node_.procfs);
    const auto found = majors.find(kChannelMajor);
    return found == majors.end() ? std::nullopt : std::optional(found->second);
  }

  cage::Host host_;
  const Node node_;
  const std::chrono::nanoseconds health_interval_;
  const ImexDaemon daemon_;
  hardware::HealthStatements statements_{host_};
  hardware::Timer timer_{host_};
  bool offered_ = false, settled_ = true;
  unsigned ticks_ = 0;
};

}  // namespace
}  // namespace cardcage::nvidia

CARDCAGE_MODULE(cardcage::nvidia::Imex)
