#include "host/module/load.h"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "host/module/declarations.h"
#include "host/module/in_process.h"
#include "host/module/options.h"

namespace cardcage {
namespace {

using Loaded = Result<InProcessModule::Parts>;

Result<InProcessModule::Parts> load_and_check(const ModuleConfig& config, const std::filesystem::path& modules_dir) {
  auto staged = stage(modules_dir, config.path, config.sha256);
  if (!staged) return within(staged.error(), "module '{}'", config.name);
  auto loaded = load(std::move(*staged));
  if (!loaded) return within(loaded.error(), "module '{}'", config.name);
  auto identity = read_identity(loaded->table(), loaded->sha256());
  if (!identity)
    return within(identity.error(), "module '{}': module file '{}' is refused", config.name, loaded->path().native());
  if (identity->process_only)
    return fail(Code::kFailedPrecondition,
                "module '{}' must run in a process of its own: set isolation = \"process\" at {}", config.name,
                config.position.to_string());
  auto options = check_options(config, identity->options);
  if (!options) {
    std::string lines = options.error().to_string();
    while (lines.ends_with('\n')) lines.pop_back();
    return fail(Code::kInvalidArgument, "{}", lines);
  }
  return InProcessModule::Parts{config.name, std::move(*loaded), std::move(*identity), std::move(*options)};
}

}  // namespace

Task<Result<std::shared_ptr<Module>>> load_module(asio::io_context& core, Clock& clock, ModuleConfig config,
                                                  std::filesystem::path modules_dir, Instant deadline) {
  using namespace asio::experimental::awaitable_operators;
  if (config.isolation == Isolation::kProcess)
    co_return fail(Code::kUnimplemented,
                   "module '{}': isolation = \"process\" is not supported by this version: set isolation = "
                   "\"in-process\" at {}",
                   config.name, config.position.to_string());
  auto lane = std::make_unique<Lane>("cage/" + config.name);
  const auto gate = std::make_shared<CoreGate>(core);
  const auto answer = std::make_shared<std::optional<Loaded>>();
  const auto ended = std::make_shared<OneShot<bool>>(core);
  lane->post([gate, answer, weak = std::weak_ptr(ended), config, modules_dir] {
    answer->emplace(load_and_check(config, modules_dir));
    gate->post([weak] {
      if (const auto waiting = weak.lock()) waiting->set(true);
    });
  });
  auto first = co_await (ended->wait_until(Instant::max()) || clock.sleep_until(deadline));
  if (const auto* outcome = std::get_if<0>(&first); outcome == nullptr || !*outcome) {
    gate->close();
    lane->leave_alone();
    co_return fail(Code::kDeadlineExceeded,
                   "module '{}' is stuck while it is loaded, in a constructor or its entry: they must do no work",
                   config.name);
  }
  if (!**answer) co_return std::unexpected((*answer)->error());
  co_return InProcessModule::make(core, clock, gate, std::move(lane), std::move(***answer));
}

}  // namespace cardcage
