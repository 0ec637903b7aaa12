#include "host/wire/asks.h"

#include "host/core/bounded.h"

namespace cardcage {
static void write(const ExecResult& from, wire::ExecResult& to) {
  to.set_exit_status(from.exit_status);
  to.set_signal(from.signal);
  to.set_timed_out(from.timed_out);
  to.set_cut(from.cut);
  to.set_out(from.out);
  to.set_err(from.err);
}

static ExecResult read(const wire::ExecResult& from) {
  return {.exit_status = from.exit_status(),
          .signal = from.signal(),
          .timed_out = from.timed_out(),
          .cut = from.cut(),
          .out = from.out(),
          .err = from.err()};
}

static void write(const ExecAsk& from, wire::Exec& to) {
  to.set_program(from.program);
  write(from.arguments, *to.mutable_arguments());
  write(from.environment, *to.mutable_environment());
  to.set_limit_ms(from.limit.count());
  to.set_input(from.input);
}

static ExecAsk read(const wire::Exec& from) {
  return {from.program(), read(from.arguments()), read(from.environment()), bounded_milliseconds(from.limit_ms()),
          from.input()};
}

void write(const FileWriteAsk& from, wire::FileWrite& to) {
  to.set_device_id(from.device_id);
  to.set_path(from.path);
  to.set_data(from.data);
  to.set_limit_ms(from.limit.count());
}

void write(const IoctlAsk& from, wire::Ioctl& to) {
  to.set_device_id(from.device_id);
  to.set_path(from.path);
  to.set_request(from.request);
  to.set_argument(from.argument);
  to.set_data_path(from.data_path);
  to.set_data_offset(from.data_offset);
  to.set_limit_ms(from.limit.count());
  to.set_data_sha256(from.data_sha256);
  to.set_data_start(from.data_start);
  to.set_flags(from.flags);
}

namespace {

struct WriteAsk {
  wire::Ask& to;
  void operator()(const JournalAsk& ask) const { to.set_journal(ask.bytes); }
  void operator()(const ExecAsk& ask) const { write(ask, *to.mutable_exec()); }
  void operator()(const FileWriteAsk& ask) const { write(ask, *to.mutable_file_write()); }
  void operator()(const IoctlAsk& ask) const { write(ask, *to.mutable_ioctl()); }
  void operator()(const DriverAsk& ask) const {
    wire::DriverSwitch& driver = *to.mutable_driver();
    driver.set_device_id(ask.device_id);
    driver.set_pci_bus_id(ask.pci_bus_id);
    driver.set_driver(ask.driver);
  }
  void operator()(const ServiceStartAsk& ask) const {
    to.mutable_start_service()->set_name(ask.name);
    write(ask.command, *to.mutable_start_service()->mutable_command());
  }
  void operator()(const ServiceStopAsk& ask) const { to.set_stop_service(ask.name); }
};

}  // namespace

void write(const ModuleAsk& from, std::uint64_t number, std::uint64_t call, wire::Ask& to) {
  to.set_number(number);
  to.set_call(call);
  std::visit(WriteAsk{to}, from);
}

std::optional<ModuleAsk> read(const wire::Ask& from) {
  switch (from.what_case()) {
    case wire::Ask::kJournal: return JournalAsk(from.journal());
    case wire::Ask::kExec: return read(from.exec());
    case wire::Ask::kFileWrite:
      return FileWriteAsk(from.file_write().device_id(), from.file_write().path(), from.file_write().data(),
                          bounded_milliseconds(from.file_write().limit_ms()));
    case wire::Ask::kIoctl:
      return IoctlAsk(from.ioctl().device_id(), from.ioctl().path(), from.ioctl().request(), from.ioctl().argument(),
                      from.ioctl().data_path(), from.ioctl().data_offset(),
                      bounded_milliseconds(from.ioctl().limit_ms()), from.ioctl().data_sha256(),
                      from.ioctl().data_start(), from.ioctl().flags());
    case wire::Ask::kDriver:
      return DriverAsk(from.driver().device_id(), from.driver().pci_bus_id(), from.driver().driver());
    case wire::Ask::kStartService:
      return ServiceStartAsk(from.start_service().name(), read(from.start_service().command()));
    case wire::Ask::kStopService: return ServiceStopAsk(from.stop_service());
    case wire::Ask::WHAT_NOT_SET: break;
  }
  return std::nullopt;
}

void write(const Result<AskReply>& from, std::uint64_t number, wire::Told& to) {
  to.set_number(number);
  if (!from) {
    to.set_code(static_cast<std::uint32_t>(from.error().code));
    to.set_message(from.error().message);
  } else if (const auto* result = std::get_if<ExecResult>(&*from)) {
    write(*result, *to.mutable_exec());
  } else if (const auto* made = std::get_if<IoctlResult>(&*from)) {
    to.mutable_ioctl()->set_argument(made->argument);
  }
}

Result<AskReply> read(const wire::Told& from) {
  if (from.code() != 0) return fail(static_cast<Code>(from.code()), "{}", from.message());
  if (from.has_exec()) return read(from.exec());
  if (from.has_ioctl()) return IoctlResult(from.ioctl().argument());
  return AskReply();
}

}  // namespace cardcage
