// Stages and loads the file of a module in one step.
#pragma once

#include "host/module/load.h"

namespace cardcage {

inline Task<Result<std::shared_ptr<Module>>> load_file(asio::io_context& core, Clock& clock, ModuleConfig config,
                                                       std::filesystem::path modules_dir, Instant deadline,
                                                       Leftover* left = nullptr, SharedParts shared = {}) {
  const std::vector folders{std::move(modules_dir)};
  auto build = co_await stage_module(core, clock, config, folders, deadline, left);
  if (!build) co_return std::unexpected(build.error());
  co_return co_await load_module(core, clock, std::move(config), std::move(*build), deadline, std::move(shared), left);
}

}  // namespace cardcage
