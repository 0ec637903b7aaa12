#include "host/sandbox/sandboxes.h"

#include <algorithm>

#include "host/core/log.h"

namespace cardcage {
namespace {

// Limit for one call of a module. Runtimes and the kubelet try again.
constexpr std::chrono::seconds kMoveLimit{10};

// Returns the interfaces of the claim's devices in the pod, as the modules stated them.
std::vector<std::string> interfaces_of(const ClaimRecord& claim) {
  std::vector<std::string> names;
  for (const ModulePart& part : claim.parts)
    for (const HeldDevice& device : part.devices)
      if (device.network && !device.network->interface_name.empty()) names.push_back(device.network->interface_name);
  return names;
}

Sandboxes::OpenSandbox with_network(RuntimeSandbox sandbox, const PodNetwork& network) {
  PodSandbox& pod = sandbox.pod;
  return {.id = std::move(sandbox.id),
          .network_namespace = network.number,
          .pod = {.uid = std::move(pod.uid),
                  .name_space = std::move(pod.name_space),
                  .name = std::move(pod.name),
                  .network_namespace = network.network_namespace,
                  .route_socket = network.route_socket,
                  .network_namespace_path = std::move(pod.network_namespace)}};
}

Result<Sandboxes::OpenSandbox> open_sandbox(RuntimeSandbox sandbox) {
  const std::string& its = sandbox.pod.network_namespace;
  const auto network = open_pod_network(std::filesystem::path(its.empty() ? "/proc/self/ns/net" : its));
  if (!network) return std::unexpected(network.error());
  return with_network(std::move(sandbox), *network);
}

std::string label(const SandboxedPod& pod) { return fmt::format("{}/{}", pod.name_space, pod.name); }

bool is_prepared_for(const ClaimRecord* claim, const std::string& pod_uid) {
  return claim != nullptr && claim->phase == ClaimPhase::kPrepared &&
         std::ranges::find(claim->pods, pod_uid) != claim->pods.end();
}

}  // namespace

Task<Status> Sandboxes::start(RuntimeSandbox starting) {
  paths_[starting.id] = starting.pod.network_namespace;
  std::vector<ClaimKey> its;
  for (const auto& [key, claim] : environment_.ledger.claims())
    if (is_prepared_for(claim.get(), starting.pod.uid) && moves_devices(*claim)) its.push_back(key);
  if (its.empty()) co_return Status();
  const auto sandbox = open_sandbox(std::move(starting));
  if (!sandbox) co_return std::unexpected(sandbox.error());
  for (const ClaimKey& key : its) {
    const ClaimCheck check = [key, uid = sandbox->pod.uid](const ClaimRecord& claim) -> Status {
      if (is_prepared_for(&claim, uid)) return {};
      return fail(Code::kFailedPrecondition, "driver '{}' has prepared it for another pod meanwhile", key.driver);
    };
    if (Status done = co_await attach(key, *sandbox, check); !done) co_return done;
  }
  co_return Status();
}

Task<void> Sandboxes::stop(RuntimeSandbox stopping) {
  paths_.erase(stopping.id);
  const auto sandbox = open_sandbox(std::move(stopping));
  if (!sandbox) co_return;  // the sandbox is gone, and unprepare finds the devices
  const auto its =
      environment_.attachments.find([&](const Attachment& attachment) { return is_in(attachment, *sandbox); });
  for (const Attachment& attachment : its)
    if (const Status done = co_await detach(attachment, *sandbox); !done)
      log(LogLevel::kWarn, "devices cannot be taken back from a pod; the end of the claim tries again",
          {{"uid", attachment.claim_uid}, {"pod", label(sandbox->pod)}, {"error", done.error().message}});
}

// Compares sandboxes if both sides know them, because the kernel reuses the numbers of namespaces.
bool Sandboxes::is_in(const Attachment& attachment, const OpenSandbox& sandbox) const {
  if (attachment.network_namespace != sandbox.network_namespace) return false;
  const auto attached = read_attachment(environment_.attachments.folder(), attachment);
  return attached && (attached->sandbox.empty() || sandbox.id.empty() || attached->sandbox == sandbox.id);
}

void Sandboxes::keep(const std::vector<RuntimeSandbox>& sandboxes) {
  paths_.clear();
  for (const RuntimeSandbox& sandbox : sandboxes) paths_[sandbox.id] = sandbox.pod.network_namespace;
  const auto is_over = [&](const Attachment& attachment) {
    const auto attached = read_attachment(environment_.attachments.folder(), attachment);
    return attached && !(attached->uid.empty() && attached->sandbox.empty()) &&
           std::ranges::none_of(sandboxes, [&](const RuntimeSandbox& sandbox) {
             return attached->sandbox.empty() ? sandbox.pod.uid == attached->uid : sandbox.id == attached->sandbox;
           });
  };
  for (const Attachment& attachment : environment_.attachments.find(is_over))
    environment_.attachments.remove(attachment);
}

Task<Status> Sandboxes::admit(HookRequest request, UniqueFd network_namespace) {
  const auto network = open_pod_network(std::move(network_namespace));
  if (!network) co_return within(network.error(), "claim {}", request.claim_uid);
  const auto path = paths_.find(request.sandbox);
  RuntimeSandbox sandbox{.id = std::move(request.sandbox),
                         .pod = {.uid = std::move(request.pod_uid),
                                 .name_space = std::move(request.pod_namespace),
                                 .name = std::move(request.pod),
                                 .network_namespace = path == paths_.end() ? std::string() : path->second}};
  ClaimKey claim{request.driver, request.claim_uid};
  OpenSandbox opened = with_network(std::move(sandbox), *network);
  co_return co_await attach(std::move(claim), std::move(opened), nullptr);
}

// Asks the running modules only. The hook asks for the others.
bool Sandboxes::moves_devices(const ClaimRecord& claim) const {
  return std::ranges::any_of(claim.parts, [this](const ModulePart& part) {
    const auto module = environment_.devices.module(part.module);
    return module && (*module)->identity().has(Family::kSandbox);
  });
}

Task<Status> Sandboxes::attach(ClaimKey key, OpenSandbox sandbox, ClaimCheck check) {
  const std::function<Task<Status>()> work = [this, key, sandbox, check]() -> Task<Status> {
    const auto claim = environment_.ledger.find(key);
    if (!claim || !is_whole(*claim, environment_.ledger.boot_id()))
      co_return fail(Code::kFailedPrecondition,
                     "driver '{}' has not prepared it here; the kubelet does, before it recreates the pod", key.driver);
    if (Status still = check ? check(*claim) : Status(); !still) co_return still;
    bool moved = false;
    for (const ModulePart& part : claim->parts) {
      const Result<bool> done = co_await attach_part(*claim, part, sandbox.pod);
      if (!done) co_return std::unexpected(done.error());
      moved = moved || *done;
    }
    if (!moved)
      co_return fail(
          Code::kFailedPrecondition,
          "no module moves its devices to the pod any more; have it prepared again by deleting the pod, or bring "
          "back the earlier version of the module");
    const AttachedPod attached{.uid = sandbox.pod.uid, .sandbox = sandbox.id, .interfaces = interfaces_of(*claim)};
    if (auto noted = environment_.attachments.add({key.driver, key.uid, sandbox.network_namespace}, attached); !noted)
      co_return noted;
    log(LogLevel::kInfo, "attached", {{"claim", claim_label(claim->ref)}, {"pod", label(sandbox.pod)}});
    co_return Status();
  };
  co_return co_await alone(key, work);
}

// Runs the work in the claim's turn. Earlier knowledge about the claim may be outdated by then.
Task<Status> Sandboxes::alone(ClaimKey key, std::function<Task<Status>()> work) {
  const auto known = environment_.ledger.find(key);
  ClaimRef ref = known ? known->ref : ClaimRef{.name_space = {}, .name = {}, .uid = key.uid};
  co_return co_await environment_.alone(key.driver, std::move(ref), std::move(work));
}

// Returns true if the module moves devices.
Task<Result<bool>> Sandboxes::attach_part(const ClaimRecord& claim, const ModulePart& part, SandboxedPod pod) {
  const Instant deadline = environment_.clock.now() + kMoveLimit;
  co_await environment_.devices.returned(part.module, deadline);
  const auto module = environment_.devices.module(part.module);
  if (!module) co_return std::unexpected(module.error());
  if (!(*module)->identity().has(Family::kSandbox)) co_return false;
  AttachCall attach{module_claim(claim, part, environment_.ledger.boot_id()), std::move(pod)};
  const Status done = co_await (*module)->call(std::move(attach), deadline);
  if (!done) co_return std::unexpected(done.error());
  co_return true;
}

// An unprepare that runs first removes the attachment. Another claim may have the devices by now.
Task<Status> Sandboxes::detach(Attachment attachment, OpenSandbox sandbox) {
  const ClaimKey key{attachment.driver, attachment.claim_uid};
  const std::function<Task<Status>()> work = [this, key, attachment, sandbox]() -> Task<Status> {
    const auto claim = environment_.ledger.find(key);
    if (!claim || !is_in(attachment, sandbox)) co_return Status();
    environment_.attachments.remove(attachment);  // first, so that no container starts that relies on it
    for (const ModulePart& part : claim->parts) {
      const Instant deadline = environment_.clock.now() + kMoveLimit;
      const auto module = environment_.devices.module_for_release(part.module);
      if (!module) co_return std::unexpected(module.error());
      if (!(*module)->identity().has(Family::kSandbox)) continue;
      DetachCall detach{module_claim(*claim, part, environment_.ledger.boot_id()), sandbox.pod};
      if (Status done = co_await (*module)->call(std::move(detach), deadline); !done) co_return done;
    }
    co_return Status();
  };
  co_return co_await alone(key, work);
}

}  // namespace cardcage
