#include "host/sandbox/sandboxes.h"

#include <algorithm>

#include "host/core/log.h"

namespace cardcage {
namespace {

// Of one call of a module. Runtimes and the kubelet try again.
constexpr std::chrono::seconds kMoveLimit{10};

SandboxedPod sandboxed(std::string uid, std::string name_space, std::string name, const PodNetwork& network) {
  return {.uid = std::move(uid),
          .name_space = std::move(name_space),
          .name = std::move(name),
          .network_namespace = network.network_namespace,
          .route_socket = network.route_socket};
}

// Those that the claim's devices have in the pod, as the modules state it.
std::vector<std::string> interfaces_of(const ClaimRecord& claim) {
  std::vector<std::string> names;
  for (const ModulePart& part : claim.parts)
    for (const HeldDevice& device : part.devices)
      if (device.network && !device.network->interface_name.empty()) names.push_back(device.network->interface_name);
  return names;
}

Result<PodNetwork> open_pod_network(const PodSandbox& pod) {
  return cardcage::open_pod_network(
      std::filesystem::path(pod.network_namespace.empty() ? "/proc/self/ns/net" : pod.network_namespace));
}

}  // namespace

Task<Status> Sandboxes::start(PodSandbox pod) {
  std::vector<std::shared_ptr<const ClaimRecord>> its;
  for (const auto& [key, claim] : environment_.ledger.claims())
    if (claim->phase == ClaimPhase::kPrepared && std::ranges::find(claim->pods, pod.uid) != claim->pods.end() &&
        moves_devices(*claim))
      its.push_back(claim);
  if (its.empty()) co_return Status();
  const auto network = open_pod_network(pod);
  if (!network) co_return std::unexpected(network.error());
  const SandboxedPod sandbox = sandboxed(pod.uid, pod.name_space, pod.name, *network);
  for (const auto& claim : its) {
    ClaimKey key = claim->key();
    if (Status done = co_await attach(std::move(key), sandbox, network->number); !done) co_return done;
  }
  co_return Status();
}

Task<void> Sandboxes::stop(PodSandbox pod) {
  const auto network = open_pod_network(pod);
  if (!network) co_return;  // it is gone, and unprepare looks for the devices
  const auto its = environment_.attachments.find(
      [&](const Attachment& attachment) { return attachment.network_namespace == network->number; });
  for (const Attachment& attachment : its) {
    const auto claim = environment_.ledger.find({attachment.driver, attachment.claim_uid});
    if (!claim) continue;
    SandboxedPod sandbox = sandboxed(pod.uid, pod.name_space, pod.name, *network);
    if (const Status done = co_await detach(claim, std::move(sandbox), attachment); !done)
      log(LogLevel::kWarn, "devices cannot be taken back from a pod; the end of the claim tries again",
          {{"claim", claim_label(claim->ref)},
           {"pod", fmt::format("{}/{}", pod.name_space, pod.name)},
           {"error", done.error().message}});
  }
}

void Sandboxes::keep(const std::vector<PodSandbox>& pods) const {
  const auto is_over = [&](const Attachment& attachment) {
    const auto attached = read_attachment(environment_.attachments.folder(), attachment);
    return attached && !attached->uid.empty() && std::ranges::find(pods, attached->uid, &PodSandbox::uid) == pods.end();
  };
  for (const Attachment& attachment : environment_.attachments.find(is_over))
    environment_.attachments.remove(attachment);
}

Task<Status> Sandboxes::admit(HookRequest request, UniqueFd network_namespace) {
  const auto network = cardcage::open_pod_network(std::move(network_namespace));
  if (!network) co_return within(network.error(), "claim {}", request.claim_uid);
  SandboxedPod pod = sandboxed(request.pod_uid, request.pod_namespace, request.pod, *network);
  ClaimKey claim{request.driver, request.claim_uid};
  Status attached = co_await attach(std::move(claim), std::move(pod), network->number);
  co_return attached;
}

// As far as the running modules tell. The hook asks for the others.
bool Sandboxes::moves_devices(const ClaimRecord& claim) const {
  return std::ranges::any_of(claim.parts, [this](const ModulePart& part) {
    const auto module = environment_.devices.module(part.module);
    return module && (*module)->identity().has_sandbox;
  });
}

Task<Status> Sandboxes::attach(ClaimKey key, SandboxedPod pod, ino_t number) {
  const std::function<Task<Status>()> work = [this, key, pod, number]() -> Task<Status> {
    const auto claim = environment_.ledger.find(key);
    if (!claim || claim->phase != ClaimPhase::kPrepared)
      co_return fail(Code::kFailedPrecondition,
                     "driver '{}' has not prepared it here; the kubelet does, before it makes the pod anew",
                     key.driver);
    for (const ModulePart& part : claim->parts)
      if (Status done = co_await attach_part(*claim, part, pod); !done) co_return done;
    const AttachedPod attached{.uid = pod.uid, .interfaces = interfaces_of(*claim)};
    if (auto noted = environment_.attachments.add({key.driver, key.uid, number}, attached); !noted) co_return noted;
    log(LogLevel::kInfo, "attached",
        {{"claim", claim_label(claim->ref)}, {"pod", fmt::format("{}/{}", pod.name_space, pod.name)}});
    co_return Status();
  };
  const auto known = environment_.ledger.find(key);
  ClaimRef ref = known ? known->ref : ClaimRef{.name_space = {}, .name = {}, .uid = key.uid};
  Status done = co_await environment_.alone(key.driver, std::move(ref), work);
  co_return done;
}

Task<Status> Sandboxes::attach_part(const ClaimRecord& claim, const ModulePart& part, SandboxedPod pod) {
  const Instant deadline = environment_.clock.now() + kMoveLimit;
  co_await environment_.devices.returned(part.module, deadline);
  const auto module = environment_.devices.module(part.module);
  if (!module) co_return std::unexpected(module.error());
  if (!(*module)->identity().has_sandbox) co_return Status();
  ModuleClaim its = module_claim(claim, part, environment_.ledger.boot_id());
  Status done = co_await (*module)->attach(std::move(its), std::move(pod), deadline);
  co_return done;
}

Task<Status> Sandboxes::detach(std::shared_ptr<const ClaimRecord> claim, SandboxedPod pod, Attachment attachment) {
  const std::function<Task<Status>()> work = [this, claim, pod, attachment]() -> Task<Status> {
    environment_.attachments.remove(attachment);  // first: no container may start that relies on it
    for (const ModulePart& part : claim->parts) {
      const Instant deadline = environment_.clock.now() + kMoveLimit;
      const auto module = environment_.devices.module_for_release(part.module);
      if (!module) co_return std::unexpected(module.error());
      if (!(*module)->identity().has_sandbox) continue;
      ModuleClaim its = module_claim(*claim, part, environment_.ledger.boot_id());
      if (Status done = co_await (*module)->detach(std::move(its), pod, deadline); !done) co_return done;
    }
    co_return Status();
  };
  Status done = co_await environment_.alone(claim->driver, claim->ref, work);
  co_return done;
}

}  // namespace cardcage
