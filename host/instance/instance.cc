#include "host/instance/instance.h"

#include <deque>
#include <exception>
#include <type_traits>

#include "host/core/log.h"
#include "host/instance/claim_view.h"
#include "host/instance/declarations.h"
#include "host/instance/values.h"
#include "host/model/text_rules.h"

namespace cardcage {

Instance::Instance(std::string name, LoadedModule module, ModuleIdentity identity, std::function<void()> news_arrived)
    : name_(std::move(name)),
      module_(std::move(module)),
      identity_(std::move(identity)),
      services_(name_, std::move(news_arrived)),
      snapshot_(name_),
      edits_(name_),
      ids_(name_) {}

Result<ModuleReply> Instance::execute(CallContext& context, const ModuleCall& call) {
  return std::visit(
      [&](const auto& one) -> Result<ModuleReply> {
        auto result = run(context, one);
        if (!result) return std::unexpected(std::move(result.error()));
        if constexpr (std::is_void_v<typename std::remove_cvref_t<decltype(one)>::Reply>)
          return ModuleReply();
        else
          return ModuleReply(std::move(*result));
      },
      call);
}

std::unexpected<Error> Instance::failure(const CallContext& context, Code code, std::string_view why) const {
  return fail(code, "module '{}' cannot {}: {}", name_, context.what(), why);
}

Status Instance::to_status(const CallContext& context, cage_status status) const {
  if (status == CAGE_OK) return {};
  const std::string text = context.explanation();
  const auto code = static_cast<Code>(status);
  if (status < 0 || status > static_cast<cage_status>(Code::kUnauthenticated))
    return failure(context, Code::kUnknown,
                   fmt::format("it returned {}, which is no status{}{}", status, text.empty() ? "" : "; ", text));
  return failure(context, code, text.empty() ? to_string(code) + ", and the module does not explain it" : text);
}

template <class Function>
Status Instance::enter(const CallContext& context, Function function) {
  try {
    return to_status(context, function());
  } catch (const std::exception& error) {
    return failure(context, Code::kInternal,
                   fmt::format("it threw an exception, none may leave a module [R9]: {}",
                               printable(error.what(), kMaxExplanation)));
  } catch (...) {
    return failure(context, Code::kInternal, "it threw an exception, none may leave a module [R9]");
  }
}

template <class Function>
Status Instance::enter_running(const CallContext& context, Function function) {
  if (self_ == nullptr) return failure(context, Code::kFailedPrecondition, "it did not start");
  return enter(context, function);
}

Status Instance::run(CallContext& context, const StartCall& call) {
  const cage_module& table = module_.table();
  const ValuesView options(call.options, name_);
  cage_instance* created = nullptr;
  auto status =
      enter(context, [&] { return table.create(context.table(), services_.table(), options.table(), &created); });
  if (!status) return status;
  if (created == nullptr) return failure(context, Code::kInternal, "create returned OK and no instance [R13]");
  self_ = created;
  if (table.start == nullptr) return {};
  status = enter(context, [&] { return table.start(self_, context.table()); });
  if (!status) destroy();
  return status;
}

Result<SnapshotPtr> Instance::run(CallContext& context, const DiscoverCall&) {
  cage_snapshot* const sink = snapshot_.open();
  const auto status = enter_running(context, [&] { return module_.table().discover(self_, context.table(), sink); });
  if (!status) {
    snapshot_.abandon();
    return std::unexpected(status.error());
  }
  return std::make_shared<const Snapshot>(snapshot_.finish());
}

Result<PreparedEdits> Instance::run(CallContext& context, const PrepareCall& call) {
  const ClaimView view(call.claim, !identity_.params.empty(), name_);
  cage_edits* const sink = edits_.open(call.claim.allocations.size());
  const auto status =
      enter_running(context, [&] { return module_.table().prepare(self_, context.table(), view.table(), sink); });
  auto edits = edits_.finish();
  // The sink's error says more than the status that the module makes of it.
  if (!edits && (status || context.explanation().empty()))
    return failure(context, Code::kInternal, "it asks for an invalid edit: " + edits.error().message);
  if (!status) return std::unexpected(status.error());
  edits->state_version = identity_.state_version;
  return edits;
}

Status Instance::run(CallContext& context, const UnprepareCall& call) {
  const ClaimView view(call.claim, false, name_);
  return enter_running(context, [&] { return module_.table().unprepare(self_, context.table(), view.table()); });
}

Status Instance::run(CallContext& context, const ReconcileCall& call) {
  const cage_reconcile* const family = reconcile_of(module_.table());
  if (family == nullptr) return {};
  std::deque<ClaimView> views;
  std::vector<const cage_claim*> claims;
  for (const ModuleClaim& claim : call.live) claims.push_back(views.emplace_back(claim, false, name_).table());
  return enter_running(context, [&] {
    return family->keep(self_, context.table(), claims.data(), static_cast<std::uint32_t>(claims.size()));
  });
}

Result<std::vector<std::string>> Instance::run(CallContext& context, const ChooseCall& call) {
  const cage_preferred* const family = preferred_of(module_.table());
  if (family == nullptr) return std::unexpected(to_status(context, CAGE_UNIMPLEMENTED).error());
  const auto borrow = [](const std::vector<std::string>& ids) {
    std::vector<cage_str> borrowed;
    for (const std::string& id : ids) borrowed.push_back({id.c_str(), id.size()});
    return borrowed;
  };
  const std::vector<cage_str> available = borrow(call.available), required = borrow(call.required);
  cage_id_sink* const sink = ids_.open(call.available, call.want);
  const auto status = enter_running(context, [&] {
    return family->choose(self_, context.table(), available.data(), static_cast<std::uint32_t>(available.size()),
                          required.data(), static_cast<std::uint32_t>(required.size()),
                          static_cast<std::uint32_t>(call.want), sink);
  });
  auto chosen = ids_.finish();
  if (!chosen && (status || context.explanation().empty()))
    return failure(context, Code::kInternal, "its choice is invalid: " + chosen.error().message);
  if (!status) return std::unexpected(status.error());
  return chosen;
}

Status Instance::run(CallContext& context, const PreStartCall& call) {
  const cage_pre_start* const family = pre_start_of(module_.table());
  if (family == nullptr) return to_status(context, CAGE_UNIMPLEMENTED);
  const ClaimView view(call.claim, false, name_);
  return enter_running(context, [&] { return family->pre_start(self_, context.table(), view.table()); });
}

Status Instance::run(CallContext& context, const CheckCall& call) {
  if (module_.table().check == nullptr) return to_status(context, CAGE_UNIMPLEMENTED);
  const cage_str id{call.device_id.c_str(), call.device_id.size()};
  return enter_running(context, [&] { return module_.table().check(self_, context.table(), id); });
}

Status Instance::run(CallContext& context, const QuiesceCall&) {
  if (module_.table().quiesce == nullptr) return to_status(context, CAGE_UNIMPLEMENTED);
  return enter_running(context, [&] { return module_.table().quiesce(self_, context.table()); });
}

Status Instance::run(CallContext& context, const ResumeCall&) {
  if (module_.table().resume == nullptr) return to_status(context, CAGE_UNIMPLEMENTED);
  return enter_running(context, [&] { return module_.table().resume(self_, context.table()); });
}

Status Instance::run(CallContext& context, const StopCall&) {
  if (self_ == nullptr) return {};
  Status status;
  if (module_.table().stop != nullptr)
    status = enter(context, [&] { return module_.table().stop(self_, context.table()); });
  destroy();
  return status;
}

void Instance::destroy() {
  try {
    module_.table().destroy(std::exchange(self_, nullptr));
  } catch (...) {
    log(LogLevel::kError, "module's destroy threw an exception; none may leave a module [R9]", {{"module", name_}});
  }
  services_.close();
}

}  // namespace cardcage
