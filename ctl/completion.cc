// cagectl completion bash|zsh|fish: generated from the command line's own description, so it is always up to date.
#include <algorithm>
#include <set>

#include "ctl/admin.h"
#include "ctl/device_health.h"
#include "ctl/session.h"

namespace cardcage {
namespace {

// Returns the kind of `cagectl names` that completes the value; empty = file names.
std::string names_for(const CLI::Option& option) {
  const std::string kind = option.get_positional() ? option.get_single_name() : option.get_type_name();
  if (kind == "MODULE") return "modules";
  if (kind == "DEVICE" || kind == "NAME") return "devices";
  if (kind == "DRIVER") return "drivers";
  if (kind == "CAUSE") return "causes";
  return "";
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* command : app.get_subcommands({}))
    if (!command->get_group().empty()) commands.push_back(command);
  return commands;
}

// A command or subcommand: "status", "module quiesce".
struct Phrase {
  std::string text;
  const CLI::App* command;
};
std::vector<Phrase> phrases_of(const CLI::App& app) {
  std::vector<Phrase> phrases;
  for (const CLI::App* command : commands_of(app)) {
    phrases.push_back({command->get_name(), command});
    for (const CLI::App* verb : commands_of(*command))
      phrases.push_back({command->get_name() + " " + verb->get_name(), verb});
  }
  return phrases;
}

std::vector<std::string> long_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> command_names(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

// Returns the words that may follow a subcommand: options, choices, and calls for names.
std::string bash_words(const CLI::App& command, const std::vector<std::string>& global) {
  auto words = long_names(command);
  for (const std::string& name : global)
    if (std::ranges::find(words, name) == words.end()) words.push_back(name);
  if (command.get_name() == "completion") words.insert(words.end(), {"bash", "zsh", "fish"});
  for (const std::string& verb : command_names(commands_of(command))) words.push_back(verb);
  std::string text = fmt::format("{}", fmt::join(words, " "));
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional() && !names_for(*option).empty())
      text += fmt::format(" $(cagectl names {} 2>/dev/null)", names_for(*option));
  return text;
}

std::string bash_script(const CLI::App& app) {
  const auto names = command_names(commands_of(app));
  const auto global = long_names(app);
  std::string values, words, cases;
  std::set<std::string> files;
  const auto add_values = [&](const CLI::App& command, const std::string& pattern) {
    for (const CLI::Option* option : command.get_options()) {
      if (option->get_positional() || option->get_items_expected_max() == 0) continue;
      const std::string flag = "--" + option->get_lnames().front();
      if (names_for(*option).empty())
        files.insert(flag);
      else
        values +=
            fmt::format("    {} {}\") words=$(cagectl names {} 2>/dev/null) ;;\n", pattern, flag, names_for(*option));
    }
  };
  add_values(app, "*\"");
  for (const auto& [phrase, command] : phrases_of(app)) {
    add_values(*command, "\"" + phrase);
    words += fmt::format("      \"{}\") words=\"{}\" ;;\n", phrase, bash_words(*command, global));
    const std::string seen = phrase.contains(' ') ? phrase : " " + phrase;  // after its parent command
    cases += fmt::format("{}\"{}\"", cases.empty() ? "" : "|", seen);
  }
  return fmt::format(R"(_cagectl() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${{COMP_WORDS[i]}}" in
      {}) command="${{command:+$command }}${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$command $before" in
    *" "{}) COMPREPLY=(); return ;;
{}    *) case $command in
      "") words="{} {}" ;;
{}    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _cagectl cagectl
)",
                     cases, fmt::join(files, "|*\" \""), values, fmt::join(names, " "), fmt::join(global, " "), words);
}

std::string fish_quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find_first_of("'\\", at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return "'" + text + "'";
}

std::string fish_options(const CLI::App& app, const std::string& condition) {
  std::string script;
  for (const CLI::Option* option : app.get_options()) {
    const std::string list = names_for(*option);
    const std::string words = list.empty() ? "" : fmt::format(" -a '(cagectl names {} 2>/dev/null)'", list);
    if (option->get_positional()) {
      if (!list.empty()) script += fmt::format("complete -c cagectl{} -f{}\n", condition, words);
      continue;
    }
    const std::string value = option->get_items_expected_max() == 0 ? "" : list.empty() ? " -r" : " -x";
    script += fmt::format("complete -c cagectl{} -l {}{}{} -d {}\n", condition, option->get_lnames().front(), value,
                          words, fish_quoted(option->get_description()));
  }
  return script;
}

std::string fish_script(const CLI::App& app) {
  std::string script = fish_options(app, "");
  for (const CLI::App* command : commands_of(app)) {
    script += fmt::format("complete -c cagectl -n __fish_use_subcommand -f -a {} -d {}\n", command->get_name(),
                          fish_quoted(command->get_description()));
    const auto verbs = commands_of(*command);
    const std::string name = fmt::format("__fish_seen_subcommand_from {}", command->get_name());
    const std::string seen = fmt::format(" -n '{}'", name);
    script += fish_options(*command, seen);
    for (const CLI::App* verb : verbs) {
      script +=
          fmt::format("complete -c cagectl -n '{}; and not __fish_seen_subcommand_from {}' -f -a {} -d {}\n", name,
                      fmt::join(command_names(verbs), " "), verb->get_name(), fish_quoted(verb->get_description()));
      script +=
          fish_options(*verb, fmt::format(" -n '{}; and __fish_seen_subcommand_from {}'", name, verb->get_name()));
    }
    if (command->get_name() == "completion")
      script += fmt::format("complete -c cagectl{} -f -a 'bash zsh fish'\n", seen);
  }
  return script;
}

constexpr std::string_view kZshPreamble =
    "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n";

Status print_script(const CLI::App& app, const std::string& shell) {
  if (shell == "fish")
    fmt::print("{}", fish_script(app));
  else
    fmt::print("{}{}", shell == "zsh" ? kZshPreamble : "", bash_script(app));
  return {};
}

Result<std::set<std::string>> names(const Session& session, const std::string& kind) {
  std::set<std::string> words;
  if (kind == "modules") {
    const auto list = ask(session.socket, &admin::v1::Admin::Stub::ListModules);
    if (!list) return std::unexpected(list.error());
    for (const auto& module : list->modules()) words.insert(module.name());
    return words;
  }
  const auto list = ask(session.socket, &admin::v1::Admin::Stub::ListDevices);
  if (!list) return std::unexpected(list.error());
  for (const auto& device : list->devices())
    if (kind == "causes")
      for (const auto& cause : device.health().causes()) words.insert(is_healthy(cause) ? "" : cause.name());
    else
      words.insert(kind == "devices" ? device.name() : device.driver());
  words.erase("");
  return words;
}

}  // namespace

void add_completion(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("completion", "print a completion script: source <(cagectl completion bash)");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app, &session, shell] { session.outcome = print_script(app, *shell); });
}

void add_names(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("names", "print words for the completion scripts")->group("");
  auto kind = std::make_shared<std::string>();
  command->add_option("KIND", *kind, "modules, devices, drivers or causes")
      ->required()
      ->check(CLI::IsMember({"modules", "devices", "drivers", "causes"}));
  command->callback([&session, kind] {
    const auto words = names(session, *kind);
    if (!words)
      session.outcome = std::unexpected(words.error());
    else
      fmt::print("{}\n", fmt::join(*words, "\n"));
  });
}

}  // namespace cardcage
