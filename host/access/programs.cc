#include "host/access/programs.h"

#include <algorithm>

namespace cardcage {

Task<Result<ExecResult>> Programs::run(asio::io_context& core, Clock& clock, ExecAsk ask, Instant deadline) {
  if (ask.limit.count() > 0) deadline = std::min<Instant>(deadline, clock.now() + ask.limit);
  auto command = rules_.allow(std::move(ask));
  if (!command) co_return std::unexpected(command.error());
  const auto started = [&](std::shared_ptr<ChildProcess> process) { running_.push_back(std::move(process)); };
  auto running = run_program(core, clock, std::move(*command), make_group_(), deadline, started);
  auto result = co_await std::move(running);
  std::ignore = survivor();  // forgets ended programs
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
