// cardcage-worker: runs one module for the daemon that started it, and ends with it.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "host/core/log.h"
#include "host/worker/bridge.h"
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

// True at the end of the stream, false if it makes no sense.
bool serve(Bridge& bridge) {
  FrameReader reader;
  std::array<char, 64 * 1024> piece{};
  for (;;) {
    const ssize_t size = ::read(kWorkerSocket, piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return true;
    reader.append({piece.data(), static_cast<std::size_t>(size)});
    for (;;) {
      wire::Request request;
      const auto complete = reader.next(request);
      if (!complete) std::fprintf(stderr, "cardcage-worker: %s\n", complete.error().message.c_str());
      if (!complete) return false;
      if (!*complete) break;
      if (request.has_load())
        configure_log(static_cast<LogLevel>(std::min(request.load().log_level(), 4u)), LogFormat::kText);
      bridge.take(std::move(request));
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
  Bridge bridge(out, UniqueFd(kWorkerModule));
  const bool ended_well = serve(bridge);
  // Without the destructors of a module that may run, hang or be broken.
  ::_exit(ended_well ? 0 : 1);
}
