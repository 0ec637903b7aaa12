// cagectl module run FILE: runs a module file on an embedded node, without a cluster and without a configuration.
#include <algorithm>

#include "ctl/desk_node.h"
#include "ctl/module_options.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "host/config/names.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRunFooter =
    "A daemon of its own serves the module in a folder below /tmp, which is removed at the end. It loads the file "
    "from\n"
    "its own folder, and loads it again when it changes. --once prepares and unprepares the first device that works:\n"
    "exit code 0 if both succeed.";

struct RunOptions {
  ModuleFile module;
  std::string name, driver;
  bool once = false;
};

// Returns "my-card" for "build/libcardcage_my_card.so".
std::string name_of(const fs::path& file) {
  std::string name = file.stem().native();
  for (const std::string_view prefix : {"lib", "cardcage_"})
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  std::ranges::replace(name, '_', '-');
  return name;
}

Result<DeskModule> desk_module(const RunOptions& options) {
  DeskModule module{fs::absolute(options.module.file),      options.name, options.driver,
                    module_options(options.module.options), {},           options.module.writes};
  module.programs.assign(options.module.programs.begin(), options.module.programs.end());
  if (module.name.empty()) module.name = name_of(module.file);
  if (auto valid = check_label(module.name); !valid) return within(valid.error(), "name the module with --name");
  if (module.driver.empty()) module.driver = module.name + ".example.com";
  return module;
}

// Prints a command for the operator's shell, and runs it.
Result<int> show(const DeskNode& node, const std::vector<std::string>& arguments) {
  fmt::print("\n$ cagectl {}\n", fmt::join(arguments, " "));
  return node.run_cagectl(arguments);
}

Status show_all(const DeskNode& node, const std::vector<std::vector<std::string>>& commands) {
  for (const auto& arguments : commands) {
    const auto code = show(node, arguments);
    if (!code) return std::unexpected(code.error());
    if (*code != 0) return fail(Code::kFailedPrecondition, "'cagectl {}' failed", arguments[0]);
  }
  return {};
}

Status try_once(const DeskNode& node) {
  const std::string root = node.kubelet_root(), claim = node.claim_file();
  return show_all(node, {{"devices"},
                         {"prepare", "--kubelet-root", root, "--cdi-dir", node.cdi_dir(), claim},
                         {"unprepare", "--kubelet-root", root, claim}});
}

Status serve(DeskNode& node) {
  if (auto shown = show_all(node, {{"devices"}}); !shown) return shown;
  fmt::print(
      "\nThe module runs until Ctrl-C. In another terminal:\n"
      "  export CARDCAGE_SOCKET={} CARDCAGE_KUBELET_ROOT={}\n"
      "  cagectl prepare --cdi-dir {} {}\n"
      "  cagectl unprepare {}\n",
      node.socket().native(), node.kubelet_root().native(), node.cdi_dir().native(), node.claim_file().native(),
      node.claim_file().native());
  std::fflush(stdout);
  return node.wait();
}

Status run_module(const RunOptions& options) {
  auto module = desk_module(options);
  if (!module) return std::unexpected(module.error());
  auto node = DeskNode::make(std::move(*module));
  if (!node) return std::unexpected(node.error());
  if (auto started = node->start(options.once); !started) return started;
  Status outcome;
  if (const auto device = node->wait_for_device(); !device)
    outcome = std::unexpected(device.error());
  else
    outcome = options.once ? try_once(*node) : serve(*node);
  if (!outcome && options.once) fmt::print(stderr, "{}", printable(node->log()));
  return outcome;
}

}  // namespace

void add_module_run(CLI::App& module, Session& session) {
  auto* command = module.add_subcommand("run", "run a module file on an embedded node, without a cluster");
  command->footer(kRunFooter);
  auto options = std::make_shared<RunOptions>();
  add_module_file(*command, options->module);
  command->add_option("--name", options->name, "the module's name; default: from the name of the file")
      ->type_name("TEXT");
  command->add_option("--driver", options->driver, "the driver to serve; default: NAME.example.com")
      ->type_name("TEXT")
      ->check(check_driver);
  command->add_flag("--once", options->once, "prepare and unprepare one device, and end");
  command->callback([&session, options] { session.outcome = run_module(*options); });
}

}  // namespace cardcage
