// cagectl: inspects and controls a running cardcage, and can play the kubelet for it.
#include <clocale>

#include "ctl/session.h"
#include "host/core/version.h"

namespace {

using namespace cardcage;

void add_commands(CLI::App& app, Session& session) {
  app.add_option("--socket", session.socket, "the daemon's admin socket")
      ->envname("CARDCAGE_SOCKET")
      ->capture_default_str();
  app.add_flag("--json", session.json, "print JSON, for programs");
  app.set_version_flag("--version", std::string(version()));
  app.require_subcommand(1);
  app.fallthrough();
  add_status(app, session);
  add_ready(app, session);
  add_modules(app, session);
  add_module(app, session);
  add_devices(app, session);
  add_device(app, session);
  add_health(app, session);
  add_catalogue(app, session);
  add_claims(app, session);
  add_history(app, session);
  add_reload(app, session);
  add_prepare(app, session);
  add_unprepare(app, session);
  add_watch_health(app, session);
  add_import(app, session);
  add_completion(app, session);
  add_names(app, session);
  app.footer(
      "Exit codes: 0 ok, 1 error, 2 wrong usage, 3 the daemon or driver does not respond, 4 an import lost settings.");
}

}  // namespace

int main(int argc, char** argv) {
  // Makes wcwidth() work for table columns.
  std::setlocale(LC_CTYPE, "C.UTF-8");  // NOLINT(concurrency-mt-unsafe): no other thread runs yet
  CLI::App app("Inspects and controls a running cardcage, and can play the kubelet for it.", "cagectl");
  Session session;
  add_commands(app, session);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  if (session.outcome) return session.incomplete ? kExitIncomplete : kExitOk;
  fmt::print(stderr, "cagectl: {}\n", session.outcome.error().message);
  return session.outcome.error().code == Code::kUnavailable ? kExitNotRunning : kExitError;
}
