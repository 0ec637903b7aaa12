#include "host/instance/host_families.h"

#include <cstring>

#include "host/instance/call_context.h"
#include "host/instance/host_services.h"
#include "host/sinks/borrowed.h"

namespace cardcage {
namespace {

// More than the host accepts, so that its error can tell the size.
constexpr std::size_t kMaxCopied = 64u << 10, kMaxText = 4096;

Result<std::string> copy_text(cage_str text, std::string_view what, std::size_t max = kMaxText) {
  const auto view = text_of(text, max, what);
  if (!view) return std::unexpected(view.error());
  return std::string(*view);
}

Result<std::string> copy_bytes(cage_bytes bytes, std::string_view what) {
  return copy_text({static_cast<const char*>(bytes.data), bytes.size}, what, kMaxCopied);
}

Result<FileWriteAsk> copy(const cage_file_write* given) {
  const auto write = adopt(given, "cage_file_write");
  if (!write) return std::unexpected(write.error());
  auto device = copy_text(write->device_id, "cage_file_write.device_id"),
       path = copy_text(write->path, "cage_file_write.path"), data = copy_bytes(write->data, "cage_file_write.data");
  for (const auto* part : {&device, &path, &data})
    if (!*part) return std::unexpected(part->error());
  return FileWriteAsk(std::move(*device), std::move(*path), std::move(*data),
                      std::chrono::milliseconds(write->timeout_ms));
}

Result<IoctlAsk> copy(const cage_ioctl* given) {
  const auto ioctl = adopt(given, "cage_ioctl");
  if (!ioctl) return std::unexpected(ioctl.error());
  if (const std::uint32_t unknown = ioctl->flags & ~std::uint32_t{CAGE_IOCTL_EXCLUSIVE}; unknown != 0)
    return fail(Code::kInvalidArgument, "cage_ioctl.flags 0x{:x} are unknown [R16]", unknown);
  auto device = copy_text(ioctl->device_id, "cage_ioctl.device_id"), path = copy_text(ioctl->path, "cage_ioctl.path"),
       data_path = copy_text(ioctl->data_path, "cage_ioctl.data_path"),
       data_sha256 = copy_text(ioctl->data_sha256, "cage_ioctl.data_sha256"),
       argument = copy_bytes({ioctl->argument, ioctl->argument_size}, "cage_ioctl.argument");
  for (const auto* part : {&device, &path, &data_path, &data_sha256, &argument})
    if (!*part) return std::unexpected(part->error());
  return IoctlAsk(std::move(*device), std::move(*path), ioctl->request, std::move(*argument), std::move(*data_path),
                  ioctl->data_offset, std::chrono::milliseconds(ioctl->timeout_ms), std::move(*data_sha256),
                  ioctl->data_start, ioctl->flags);
}

Result<DriverAsk> copy(cage_str device_id, cage_str pci_bus_id, cage_str driver) {
  auto device = copy_text(device_id, "cage_write.driver: device_id"),
       address = copy_text(pci_bus_id, "cage_write.driver: pci_bus_id"),
       name = copy_text(driver, "cage_write.driver: driver");
  for (const auto* part : {&device, &address, &name})
    if (!*part) return std::unexpected(part->error());
  return DriverAsk(std::move(*device), std::move(*address), std::move(*name));
}

template <class Ask>
Result<AskReply> put(const cage_host* host, const cage_call* call, Result<Ask> ask, std::string_view what) {
  if (call == nullptr) return fail(Code::kInvalidArgument, "{}: cage_call is NULL", what);
  if (!ask) return std::unexpected(ask.error());
  const std::string device = ask->device_id;
  auto reply = HostServices::asks_of(host).ask(CallContext::of(call).number(), ModuleAsk(std::move(*ask)));
  if (!reply) return within(reply.error(), "{} for device '{}'", what, printable(device, kQuoted));
  return reply;
}

cage_status file(const cage_host* host, const cage_call* call, const cage_file_write* given) {
  return explain_on(call, put(host, call, copy(given), "cage_write.file"));
}

cage_status ioctl(const cage_host* host, const cage_call* call, const cage_ioctl* given) {
  const auto made = put(host, call, copy(given), "cage_write.ioctl");
  if (made && given->argument_size > 0) {
    const std::string& argument = std::get<IoctlResult>(*made).argument;
    std::memcpy(given->argument, argument.data(), std::min<std::size_t>(argument.size(), given->argument_size));
  }
  return explain_on(call, made);
}

cage_status driver(const cage_host* host, const cage_call* call, cage_str device_id, cage_str pci_bus_id,
                   cage_str driver_name) {
  return explain_on(call, put(host, call, copy(device_id, pci_bus_id, driver_name), "cage_write.driver"));
}

}  // namespace

const cage_write* write_family() {
  static constexpr cage_write kFamily = {
      .struct_size = sizeof(cage_write), .reserved = 0, .file = file, .ioctl = ioctl, .driver = driver};
  return &kFamily;
}

}  // namespace cardcage
