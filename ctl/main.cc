// cagectl: inspects and controls a running cardcage, and can act as its kubelet.
#include <clocale>

#include "ctl/print.h"
#include "ctl/session.h"
#include "host/core/nearest.h"
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
  add_web(app, session);
  add_import(app, session);
  add_completion(app, session);
  add_names(app, session);
  app.footer(
      "Exit codes: 0 ok, 1 error, 2 wrong usage, 3 the daemon or driver does not respond, 4 an import lost settings.");
}

// Returns the innermost subcommand named.
const CLI::App& named_command(const CLI::App& app) {
  const auto named = app.get_subcommands();
  return named.empty() ? app : named_command(*named.front());
}

// Returns "unknown command 'statu' (did you mean 'status'?)" for the first word that no command or option takes; empty
// without such a word, or if no word is near it.
std::string nearest_word(const CLI::App& app) {
  const std::vector<std::string> unknown = app.remaining(true);
  if (unknown.empty()) return "";
  const std::string word = unknown.front().substr(0, unknown.front().find('='));
  const bool is_option = word.starts_with('-');
  const CLI::App& command = named_command(app);
  std::vector<std::string> known;
  if (is_option) {
    for (const CLI::App* place : {&command, &app})
      for (const CLI::Option* option : place->get_options())
        for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  } else {
    for (const CLI::App* sub : command.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
      known.push_back(sub->get_name());
  }
  const std::string hint = nearest_hint(word, known);
  return hint.empty() ? hint : fmt::format("unknown {} '{}'{}", is_option ? "option" : "command", word, hint);
}

ExitCode code_of(const Session& session) {
  if (session.outcome) return session.incomplete ? kExitIncomplete : kExitOk;
  return session.outcome.error().code == Code::kUnavailable ? kExitNotRunning : kExitError;
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
    if (error.get_exit_code() == 0) return app.exit(error);
    const std::string hint = nearest_word(app);
    if (hint.empty()) return app.exit(error), kExitUsage;
    print_error("cagectl: " + hint);
    return kExitUsage;
  }
  std::fflush(stdout);
  if (!session.outcome) fmt::print(stderr, "cagectl: {}\n", session.outcome.error().message);
  if (session.has_threads_of_module) std::_Exit(code_of(session));
  return code_of(session);
}
