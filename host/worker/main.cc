// cardcage-worker: runs one module for the daemon that started it, and exits with it.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "host/core/log.h"
#include "host/core/memory.h"
#include "host/core/unique_fd.h"
#include "host/wire/frame.h"
#include "host/worker/bridge.h"
#include "host/worker/confine.h"
#include "host/worker/inbox.h"
#include "host/worker/service.h"

namespace {

using namespace cardcage;

void send_line(ReportStream& out, LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  wire::Report report;
  wire::LogLine& line = *report.mutable_log();
  line.set_level(static_cast<std::uint32_t>(level));
  line.set_text(std::string(message));
  for (const LogField& field : fields) {
    line.add_fields(std::string(field.name.text()));
    line.add_fields(field.value.text());
  }
  out.send(report);
}

// Makes the kernel end this process before the daemon and before any pod when memory is short: only a worker leaks
// without a limit of its own, and the daemon starts another within a second.
void volunteer_for_oom_killer() {
  const UniqueFd file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (!file || ::write(file.get(), "1000", 4) < 0) std::perror("cardcage-worker: oom_score_adj");
}

// Must run before the process has a second thread.
Status prepare_process(const wire::Request& request) {
  if (!request.has_load()) return fail(Code::kFailedPrecondition, "the first message must be load");
  configure_log(log_level_of(request.load().log_level()), LogFormat::kText);
  if (auto confined = confine(request.load().confinement()); !confined)
    return within(confined.error(), "module '{}'", request.load().module());
  return {};
}

// Never returns: the process exits when the daemon closes the stream.
[[noreturn]] void serve(ReportStream& out) {
  Inbox inbox(kWorkerSocket);
  Bridge bridge(out, inbox, UniqueFd(kWorkerModule));
  for (;;) {
    wire::Request request = inbox.next();
    const Status ready = prepare_process(request);
    if (ready) {
      bridge.take(std::move(request), {});
      break;
    }
    out.answer(request.call(), ready);
  }
  inbox.give_to([&bridge](wire::Request request, Descriptors descriptors) {
    bridge.take(std::move(request), std::move(descriptors));
  });
  std::thread module([&inbox] { inbox.work(); });
  ::pthread_setname_np(module.native_handle(), "module");
  inbox.stand_in();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 3 && std::string_view(argv[1]) == kServiceArgument) return become_service(argv + 2);
  // A module must never outlive its daemon.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  volunteer_for_oom_killer();
  share_heaps();
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
