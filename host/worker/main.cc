// cardcage-worker: runs one module for the daemon that started it, and ends with it.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "host/core/log.h"
#include "host/worker/bridge.h"
#include "host/worker/confine.h"
#include "host/worker/frame.h"

namespace {

using namespace cardcage;

void send_line(ReportStream& out, LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  wire::Report report;
  wire::LogLine& line = *report.mutable_log();
  line.set_level(static_cast<std::uint32_t>(level));
  line.set_text(std::string(message));
  for (const LogField& field : fields) {
    line.add_fields(std::string(field.name));
    line.add_fields(field.value);
  }
  out.send(report);
}

// What comes first, before there is a second thread.
Status prepare_process(const wire::Request& request) {
  if (!request.has_load()) return fail(Code::kFailedPrecondition, "the first message is to be load");
  configure_log(static_cast<LogLevel>(std::min(request.load().log_level(), 4u)), LogFormat::kText);
  if (auto confined = confine(request.load().confinement()); !confined)
    return within(confined.error(), "module '{}'", request.load().module());
  return {};
}

void refuse(ReportStream& out, const wire::Request& request, const Error& error) {
  wire::Report report;
  report.mutable_answer()->set_call(request.call());
  report.mutable_answer()->set_code(static_cast<std::uint32_t>(error.code));
  report.mutable_answer()->set_message(error.message);
  out.send(report);
}

// Until the host closes the stream. Ends without the destructors of a module that may run, hang or be broken.
[[noreturn]] void serve(ReportStream& out) {
  FrameReader reader;
  std::optional<Bridge> bridge;
  std::array<char, 64 * 1024> piece{};
  for (;;) {
    const ssize_t size = ::read(kWorkerSocket, piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) ::_exit(0);
    reader.append({piece.data(), static_cast<std::size_t>(size)});
    for (;;) {
      wire::Request request;
      const auto complete = reader.next(request);
      if (!complete) {
        std::fprintf(stderr, "cardcage-worker: %s\n", complete.error().message.c_str());
        ::_exit(1);
      }
      if (!*complete) break;
      if (!bridge) {
        if (const Status ready = prepare_process(request); !ready) {
          refuse(out, request, ready.error());
          continue;
        }
        bridge.emplace(out, UniqueFd(kWorkerModule));
      }
      bridge->take(std::move(request));
    }
  }
}

}  // namespace

int main() {
  // A module must not outlive the daemon that answers for it, whatever it does.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (::fcntl(kWorkerSocket, F_SETFD, FD_CLOEXEC) != 0 || ::fcntl(kWorkerModule, F_SETFD, FD_CLOEXEC) != 0) {
    std::fprintf(stderr,
                 "cardcage-worker is started by the cardcage daemon, for modules with isolation = \"process\"\n");
    return 2;
  }
  ReportStream out(kWorkerSocket);
  divert_log([&out](LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
    send_line(out, level, message, fields);
  });
  serve(out);
}
