#include "host/instance/host_families.h"

#include "host/instance/call_context.h"
#include "host/instance/command_copy.h"
#include "host/instance/host_services.h"
#include "host/sinks/borrowed.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxName = 4096;  // more than the host takes, so that its error can tell

Result<std::string_view> name_from(cage_str given) { return text_of(given, kMaxName, "the name of a service"); }

template <class Ask>
cage_status put(const cage_host* host, const cage_call* call, Result<Ask> ask) {
  if (call == nullptr) return CAGE_INVALID_ARGUMENT;
  if (!ask) return explain_on(call, ask);
  return explain_on(call, HostServices::asks_of(host).ask(CallContext::of(call).number(), ModuleAsk(std::move(*ask))));
}

cage_status start(const cage_host* host, const cage_call* call, cage_str given_name, const cage_command* given) {
  const auto copy = [&]() -> Result<ServiceStartAsk> {
    const auto name = name_from(given_name);
    if (!name) return std::unexpected(name.error());
    auto command = copy_command(given);
    if (!command) return std::unexpected(command.error());
    if (command->limit.count() != 0)
      return fail(Code::kInvalidArgument, "cage_command.timeout_ms is {}, but a service has no limit: set it to 0",
                  command->limit.count());
    if (!command->input.empty())
      return fail(Code::kInvalidArgument, "cage_command.input is given, but a service has no input: pass a file");
    return ServiceStartAsk(std::string(*name), std::move(*command));
  };
  return put(host, call, copy());
}

cage_status stop(const cage_host* host, const cage_call* call, cage_str given_name) {
  const auto name = name_from(given_name);
  if (!name) return put<ServiceStopAsk>(host, call, std::unexpected(name.error()));
  return put(host, call, Result<ServiceStopAsk>(ServiceStopAsk(std::string(*name))));
}

}  // namespace

const cage_service* service_family() {
  static constexpr cage_service kFamily = {
      .struct_size = sizeof(cage_service), .reserved = 0, .start = start, .stop = stop};
  return &kFamily;
}

}  // namespace cardcage
