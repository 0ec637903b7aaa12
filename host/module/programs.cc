#include "host/module/programs.h"

#include <algorithm>
#include <array>

#include "host/model/text_rules.h"

namespace cardcage {
namespace {

constexpr std::size_t kQuotedName = 80;  // how much of a wrong name an error quotes

// Variables that make a program run code of somebody else: those that ld.so(8) ignores in a setuid program, and those
// of interpreters. A module may be confined, the daemon is not.
constexpr std::array<std::string_view, 6> kForbiddenBeginnings = {"LD_", "GLIBC_", "BASH_", "PYTHON", "PERL", "RUBY"};
constexpr std::array<std::string_view, 8> kForbiddenNames = {"GCONV_PATH", "GETCONF_DIR", "LOCPATH",   "NLSPATH",
                                                             "ENV",        "IFS",         "SHELLOPTS", "NODE_OPTIONS"};

bool is_forbidden(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::ranges::find(kForbiddenNames, name) != kForbiddenNames.end() ||
         std::ranges::any_of(kForbiddenBeginnings, [&](std::string_view begin) { return name.starts_with(begin); });
}

}  // namespace

Result<std::filesystem::path> Programs::allow(const ExecAsk& ask) const {
  const auto file = std::ranges::find_if(allowed_, [&](const auto& path) { return path.filename() == ask.program; });
  if (file == allowed_.end())
    return fail(Code::kPermissionDenied,
                "the module may not run '{}': add its path to the key programs of its [[module]]",
                printable(ask.program, kQuotedName));
  if (const auto wrong = std::ranges::find_if(ask.environment, is_forbidden); wrong != ask.environment.end())
    return fail(Code::kPermissionDenied, "the module may not set '{}' for a program: it could run any code",
                printable(*wrong, kQuotedName));
  return *file;
}

Task<Result<ExecResult>> Programs::run(asio::io_context& core, Clock& clock, ExecAsk ask, Instant deadline) {
  const auto file = allow(ask);
  if (!file) co_return std::unexpected(file.error());
  if (ask.limit.count() > 0) deadline = std::min<Instant>(deadline, clock.now() + ask.limit);
  const auto started = [&](std::shared_ptr<ChildProcess> process) { running_.push_back(std::move(process)); };
  auto running = run_program(core, clock, *file, std::move(ask), make_group_(), deadline, started);
  auto result = co_await std::move(running);
  std::ignore = survivor();  // forgets what has ended
  co_return result;
}

void Programs::kill() {
  for (const auto& child : running_) child->kill();
}

std::optional<std::string> Programs::survivor() {
  std::optional<std::string> first;
  std::erase_if(running_, [&](const auto& child) {
    if (!child->is_killed()) return false;
    auto left = child->survivor("a program", module_);
    if (left && !first) first = std::move(left);
    return !left;
  });
  return first;
}

}  // namespace cardcage
