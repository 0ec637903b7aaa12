#include "host/daemon/module_access.h"

#include <algorithm>
#include <utility>

#include "host/core/log.h"
#include "host/module/load.h"

namespace cardcage {
namespace {

// A name other than "services", which holds the pipes that services print to.
constexpr const char* kServiceRecords = "service-records";

// Works across file systems.
void move_folder(const std::filesystem::path& from, const std::filesystem::path& to) {
  using Options = std::filesystem::copy_options;
  std::error_code failed;
  if (!std::filesystem::exists(from, failed)) return;
  std::filesystem::copy(from, to, Options::recursive | Options::overwrite_existing, failed);
  if (!failed) std::filesystem::remove_all(from, failed);
  if (failed)
    log(LogLevel::kError, "records of an earlier version are not taken over",
        {{"folder", from.native()}, {"to", to.native()}, {"error", failed.message()}});
}

// Earlier versions kept these records in state_dir.
const std::filesystem::path& with_moved_records(const NodeConfig& node) {
  for (const auto& [before, now] :
       {std::pair("drivers", "drivers"), std::pair("quiesced", "quiesced"), std::pair("services", kServiceRecords)})
    move_folder(node.state_dir / before, node.run_dir / now);
  return node.run_dir;
}

std::shared_ptr<HardwareWrites> make_writes(asio::io_context& core, Clock& clock, const NodeConfig& node,
                                            const std::string& boot_id, const FaultHook& fault) {
  auto writes = std::make_shared<HardwareWrites>(core, clock);
  writes->sysfs = node.roots.sysfs;
  writes->fault = fault;
  writes->records = std::make_unique<DriverRecords>(node.run_dir / "drivers", boot_id);
  return writes;
}

Services::Places service_places(const NodeConfig& node, std::string boot_id) {
  return {.records = node.run_dir / kServiceRecords,
          .outputs = node.run_dir / "services",
          .groups = node.services_cgroup.empty() ? find_control_group().value_or("") : node.services_cgroup,
          .boot_id = std::move(boot_id)};
}

bool holds(const ClaimRecord& claim, const std::string& module) {
  return std::ranges::find(claim.parts, module, &ModulePart::module) != claim.parts.end();
}

}  // namespace

ModuleAccess::ModuleAccess(asio::io_context& core, Clock& clock, const Config& config, const Ledger& ledger,
                           const FaultHook& fault)
    : core_(core),
      clock_(clock),
      config_(config),
      groups_(with_moved_records(config.node)),
      writes_(make_writes(core, clock, config.node, ledger.boot_id(), fault)),
      quiesced_(config.node.run_dir / "quiesced", ledger.boot_id()),
      events_(core, clock, config.node.roots.devfs / "kmsg"),
      judge_([this](const ServiceKey& service, const ProgramCommand& command) { return judge(service, command); }),
      services_(std::make_shared<Services>(core, clock, service_places(config.node, ledger.boot_id()), fault)) {
  const auto is_held = [&ledger](const ServiceKey& service) {
    return std::ranges::any_of(ledger.claims(), [&](const auto& claim) {
      return claim.first.uid == service.claim_uid && holds(*claim.second, service.module);
    });
  };
  services_->adopt(is_held, judge_);
  adopting_ = false;
}

Result<ProgramCommand> ModuleAccess::judge(const ServiceKey& service, const ProgramCommand& command) const {
  const auto module = std::ranges::find(config_.modules, service.module, &ModuleConfig::name);
  if (module != config_.modules.end()) return ProgramRules(*module, config_.node.roots.driver).renew(command);
  if (!adopting_) return command;
  for (const ModuleConfig& other : config_.modules)
    if (auto renewed = ProgramRules(other, config_.node.roots.driver).renew(command)) return renewed;
  return fail(Code::kPermissionDenied, "no [[module]] allows '{}' any more: add it to the key programs of one",
              command.file.native());
}

Supervisor::Loader ModuleAccess::loader() {
  return {.stage =
              [this](const ModuleConfig& module, Instant deadline, Leftover& left) {
                return stage_module(core_, clock_, module, config_.node.modules_dirs, deadline, &left);
              },
          .load =
              [this](const ModuleConfig& module, ModuleBuild build, Instant deadline, Leftover& left) {
                return load_module(core_, clock_, module, std::move(build), deadline,
                                   {&groups_, writes_, services_, config_.node.roots}, &left);
              }};
}

std::vector<Status> ModuleAccess::restore() {
  return {writes_->records->restore(), quiesced_.restore(), services_->restore()};
}

}  // namespace cardcage
