#include "host/instance/instance.h"

#include <exception>

#include "host/core/log.h"
#include "host/instance/claim_view.h"
#include "host/instance/declarations.h"
#include "host/instance/values.h"
#include "host/model/text_rules.h"

namespace cardcage {

Instance::Instance(std::string name, LoadedModule module, ModuleIdentity identity, OptionValues options,
                   std::function<void()> news)
    : name_(std::move(name)),
      module_(std::move(module)),
      identity_(std::move(identity)),
      options_(std::move(options)),
      services_(name_, std::move(news)),
      snapshot_(name_),
      edits_(name_),
      ids_(name_) {}

std::string Instance::failure(const CallContext& call, std::string_view why) const {
  return fmt::format("module '{}' cannot {}: {}", name_, call.what(), why);
}

Status Instance::to_status(const CallContext& call, cage_status status) const {
  if (status == CAGE_OK) return {};
  const std::string text = call.explanation();
  const auto code = static_cast<Code>(status);
  if (status < 0 || status > static_cast<cage_status>(Code::kUnauthenticated))
    return fail(
        Code::kUnknown, "{}",
        failure(call, fmt::format("it returned {}, which is no status{}{}", status, text.empty() ? "" : "; ", text)));
  const std::string why = text.empty() ? to_string(code) + ", and the module does not explain it" : text;
  return fail(code, "{}", failure(call, why));
}

template <class Function>
Status Instance::enter(const CallContext& call, Function function) {
  try {
    return to_status(call, function());
  } catch (const std::exception& error) {
    return fail(Code::kInternal, "{}",
                failure(call, fmt::format("it threw an exception, none may leave a module [R9]: {}",
                                          printable(error.what(), kMaxExplanation))));
  } catch (...) {
    return fail(Code::kInternal, "{}", failure(call, "it threw an exception, none may leave a module [R9]"));
  }
}

template <class Function>
Status Instance::enter_running(const CallContext& call, Function function) {
  if (self_ == nullptr) return fail(Code::kFailedPrecondition, "{}", failure(call, "it did not start"));
  return enter(call, function);
}

Status Instance::start(CallContext& call) {
  const cage_module& table = module_.table();
  const ValuesView options(options_, name_);
  cage_instance* created = nullptr;
  auto status = enter(call, [&] { return table.create(call.table(), services_.table(), options.table(), &created); });
  if (!status) return status;
  if (created == nullptr) return fail(Code::kInternal, "{}", failure(call, "create returned OK and no instance [R13]"));
  self_ = created;
  if (table.start == nullptr) return {};
  status = enter(call, [&] { return table.start(self_, call.table()); });
  if (!status) destroy();
  return status;
}

Result<Snapshot> Instance::discover(CallContext& call) {
  cage_snapshot* const sink = snapshot_.open();
  const auto status = enter_running(call, [&] { return module_.table().discover(self_, call.table(), sink); });
  if (!status) {
    snapshot_.abandon();
    return std::unexpected(status.error());
  }
  return snapshot_.finish();
}

Result<PreparedEdits> Instance::prepare(CallContext& call, const ModuleClaim& claim) {
  const ClaimView view(claim, !identity_.params.empty(), name_);
  cage_edits* const sink = edits_.open(claim.allocations.size());
  const auto status =
      enter_running(call, [&] { return module_.table().prepare(self_, call.table(), view.table(), sink); });
  auto edits = edits_.finish();
  // The sink's own words say more than the status that the module makes of them.
  if (!edits && (status || call.explanation().empty()))
    return fail(Code::kInternal, "{}", failure(call, "it asks for an invalid edit: " + edits.error().message));
  if (!status) return std::unexpected(status.error());
  edits->state_version = identity_.state_version;
  return edits;
}

Status Instance::unprepare(CallContext& call, const ModuleClaim& claim) {
  const ClaimView view(claim, false, name_);
  return enter_running(call, [&] { return module_.table().unprepare(self_, call.table(), view.table()); });
}

Status Instance::reconcile(CallContext& call, const std::vector<ModuleClaim>& live) {
  const cage_reconcile* const family = reconcile_of(module_.table());
  if (family == nullptr) return {};
  std::deque<ClaimView> views;
  std::vector<const cage_claim*> claims;
  for (const ModuleClaim& claim : live) claims.push_back(views.emplace_back(claim, false, name_).table());
  return enter_running(call, [&] {
    return family->keep(self_, call.table(), claims.data(), static_cast<std::uint32_t>(claims.size()));
  });
}

Result<std::vector<std::string>> Instance::choose(CallContext& call, const std::vector<std::string>& available,
                                                  const std::vector<std::string>& required, std::size_t want) {
  const cage_preferred* const family = preferred_of(module_.table());
  if (family == nullptr) return std::unexpected(to_status(call, CAGE_UNIMPLEMENTED).error());
  const auto borrow = [](const std::vector<std::string>& ids) {
    std::vector<cage_str> borrowed;
    for (const std::string& id : ids) borrowed.push_back({id.c_str(), id.size()});
    return borrowed;
  };
  const std::vector<cage_str> offered = borrow(available), needed = borrow(required);
  cage_id_sink* const sink = ids_.open(available, want);
  const auto status = enter_running(call, [&] {
    return family->choose(self_, call.table(), offered.data(), static_cast<std::uint32_t>(offered.size()),
                          needed.data(), static_cast<std::uint32_t>(needed.size()), static_cast<std::uint32_t>(want),
                          sink);
  });
  auto chosen = ids_.finish();
  if (!chosen && (status || call.explanation().empty()))
    return fail(Code::kInternal, "{}", failure(call, "its choice is invalid: " + chosen.error().message));
  if (!status) return std::unexpected(status.error());
  return chosen;
}

Status Instance::pre_start(CallContext& call, const ModuleClaim& claim) {
  const cage_pre_start* const family = pre_start_of(module_.table());
  if (family == nullptr) return to_status(call, CAGE_UNIMPLEMENTED);
  const ClaimView view(claim, false, name_);
  return enter_running(call, [&] { return family->pre_start(self_, call.table(), view.table()); });
}

Status Instance::check(CallContext& call, const std::string& device_id) {
  if (module_.table().check == nullptr) return to_status(call, CAGE_UNIMPLEMENTED);
  return enter_running(
      call, [&] { return module_.table().check(self_, call.table(), {device_id.c_str(), device_id.size()}); });
}

Status Instance::quiesce(CallContext& call) {
  if (module_.table().quiesce == nullptr) return to_status(call, CAGE_UNIMPLEMENTED);
  return enter_running(call, [&] { return module_.table().quiesce(self_, call.table()); });
}

Status Instance::resume(CallContext& call) {
  if (module_.table().resume == nullptr) return to_status(call, CAGE_UNIMPLEMENTED);
  return enter_running(call, [&] { return module_.table().resume(self_, call.table()); });
}

Status Instance::stop(CallContext& call) {
  if (self_ == nullptr) return {};
  Status status;
  if (module_.table().stop != nullptr) status = enter(call, [&] { return module_.table().stop(self_, call.table()); });
  destroy();
  return status;
}

void Instance::destroy() {
  try {
    module_.table().destroy(std::exchange(self_, nullptr));
  } catch (...) {
    log(LogLevel::kError, "module's destroy threw an exception, none may leave a module [R9]", {{"module", name_}});
  }
  services_.close();
}

}  // namespace cardcage
