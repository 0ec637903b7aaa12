#include "host/instance/service_family.h"

#include "host/instance/call_context.h"
#include "host/instance/command_copy.h"
#include "host/instance/host_services.h"
#include "host/sinks/borrowed.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxName = 4096;  // more than the host takes, so that its error can tell

Result<std::string> copy_name(cage_str name) {
  const auto text = text_of(name, kMaxName, "the name of a service");
  if (!text) return std::unexpected(text.error());
  return std::string(*text);
}

template <class Ask>
cage_status put(const cage_host* host, const cage_call* call, Result<Ask> ask) {
  if (call == nullptr) return CAGE_INVALID_ARGUMENT;
  if (!ask) return explain_on(call, ask);
  return explain_on(call, HostServices::asks_of(host).ask(static_cast<const CallContext*>(call->host_data)->number(),
                                                          ModuleAsk(std::move(*ask))));
}

cage_status start(const cage_host* host, const cage_call* call, cage_str given_name, const cage_command* given) {
  const auto copy = [&]() -> Result<ServiceStartAsk> {
    auto name = copy_name(given_name);
    if (!name) return std::unexpected(name.error());
    auto command = copy_command(given);
    if (!command) return std::unexpected(command.error());
    if (command->limit.count() != 0)
      return fail(Code::kInvalidArgument, "cage_command.timeout_ms is {}, but a service has no limit: set it to 0",
                  command->limit.count());
    if (!command->input.empty())
      return fail(Code::kInvalidArgument, "cage_command.input is given, but a service has no input: pass a file");
    return ServiceStartAsk(std::move(*name), std::move(*command));
  };
  return put(host, call, copy());
}

cage_status stop(const cage_host* host, const cage_call* call, cage_str given_name) {
  auto name = copy_name(given_name);
  if (!name) return put<ServiceStopAsk>(host, call, std::unexpected(name.error()));
  return put(host, call, Result<ServiceStopAsk>(ServiceStopAsk(std::move(*name))));
}

}  // namespace

const cage_service* service_family() {
  static constexpr cage_service kFamily = {
      .struct_size = sizeof(cage_service), .reserved = 0, .start = start, .stop = stop};
  return &kFamily;
}

}  // namespace cardcage
