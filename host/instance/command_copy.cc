#include "host/instance/command_copy.h"

#include "host/sinks/borrowed.h"

namespace cardcage {
namespace {

Result<std::vector<std::string>> copy_texts(const cage_str* texts, std::uint32_t count, std::string_view what,
                                            std::size_t& room) {
  const auto items = items_of(texts, count, kMaxCommandItems, what);
  if (!items) return std::unexpected(items.error());
  std::vector<std::string> copies;
  for (const cage_str& item : *items) {
    const auto text = text_of(item, room, what);
    if (!text) return std::unexpected(text.error());
    if (text->contains('\0')) return fail(Code::kInvalidArgument, "{} contains a NUL", what);
    room -= text->size();
    copies.emplace_back(*text);
  }
  return copies;
}

}  // namespace

Result<ExecAsk> copy_command(const cage_command* given) {
  const auto command = adopt(given, "cage_command");
  if (!command) return std::unexpected(command.error());
  ExecAsk ask;
  ask.limit = std::chrono::milliseconds(command->timeout_ms);
  const auto is_name = [](std::string_view name) {
    return !name.empty() && name.find_first_of({"/\0", 2}) == name.npos;
  };
  auto program = ruled_text(command->program, is_name, "cage_command.program", "the name of a file without its folder");
  if (!program) return std::unexpected(program.error());
  std::size_t room = kMaxCommandText;
  auto arguments = copy_texts(command->args, command->arg_count, "cage_command.args", room);
  if (!arguments) return std::unexpected(arguments.error());
  auto environment = copy_texts(command->env, command->env_count, "cage_command.env", room);
  if (!environment) return std::unexpected(environment.error());
  const auto input = text_of(command->input, room, "cage_command.input");
  if (!input) return std::unexpected(input.error());
  for (const std::string& variable : *environment)
    if (variable.find('=') == 0 || !variable.contains('='))
      return fail(Code::kInvalidArgument, "cage_command.env: '{}' is not NAME=value", printable(variable, kQuoted));
  ask.program = std::move(*program);
  ask.arguments = std::move(*arguments);
  ask.environment = std::move(*environment);
  ask.input = *input;
  return ask;
}

}  // namespace cardcage
