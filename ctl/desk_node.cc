#include "ctl/desk_node.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "ctl/admin.h"
#include "ctl/import/toml.h"
#include "ctl/print.h"
#include "host/core/file.h"
#include "host/core/unique_fd.h"
#include "host/model/text_rules.h"
#include "host/process/spawn_plan.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::chrono::seconds kDeviceLimit{30};
// Polls instead of blocking: a signal that comes just before a blocking waitpid(2) would not interrupt it.
constexpr std::chrono::milliseconds kPoll{100};
constexpr std::size_t kMaxLog = 1u << 20;
constexpr const char* kClaimUid = "11111111-2222-3333-4444-555555555555";

struct TomlValue {
  std::string operator()(const std::string& text) const { return toml_string(text); }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(const std::vector<std::string>& items) const { return toml_list(items, toml_string); }
  std::string operator()(const TextMap& map) const {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : map) pairs.push_back(toml_string(key) + " = " + toml_string(value));
    return fmt::format("{{ {} }}", fmt::join(pairs, ", "));
  }
};

volatile std::sig_atomic_t interrupted = 0;

// Returns a table of an option as an inline table. The module gets lines, so every member may be a string.
std::string toml_table(const std::string& lines) {
  std::map<std::string, std::vector<std::string>> members;
  for (const std::string& line : split(lines, '\n'))
    if (const std::size_t equals = line.find('='); equals != std::string::npos)
      members[line.substr(0, equals)].push_back(line.substr(equals + 1));
  std::vector<std::string> pairs;
  for (const auto& [name, values] : members)
    pairs.push_back(fmt::format("{} = {}", toml_string(name), toml_list(values, toml_string)));
  return fmt::format("{{ {} }}", fmt::join(pairs, ", "));
}

std::string toml_option(const RawOption& option) {
  if (!option.has_tables) return std::visit(TomlValue{}, option.value);
  return toml_list(std::get<std::vector<std::string>>(option.value), toml_table);
}

// Lets Ctrl-C and SIGTERM end a wait, so that the daemon ends and the folder is removed: the daemon, in a process group
// of its own, gets no signal of the terminal.
void catch_signals() {
  struct sigaction action{};
  action.sa_handler = [](int) { interrupted = 1; };  // without SA_RESTART
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

std::unexpected<Error> cut_off() { return fail(Code::kCancelled, "interrupted"); }

bool is_usable(const admin::v1::Device& device) {
  return device.health().state() != "unhealthy" && device.health().state() != "unknown";
}

// Starts a program with the environment and the standard descriptors of this one, or with stdout and stderr in
// `output`.
Result<pid_t> start_program(const fs::path& file, std::vector<std::string> arguments, const UniqueFd& output = {}) {
  SpawnPlan plan(STDERR_FILENO);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
    if (output) plan.give(output.get(), fd);
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  return plan.run(file, std::move(arguments), std::move(environment));
}

}  // namespace

std::string desk_config(const DeskModule& module, const fs::path& folder) {
  std::string text = "[node]\nname = \"desk\"\n";
  for (const auto& [key, name] :
       {std::pair("kubelet_root", "kubelet"), std::pair("state_dir", "state"), std::pair("run_dir", "run"),
        std::pair("cdi_dir", "cdi"), std::pair("features_dir", "features"), std::pair("admin_socket", "admin.sock"),
        std::pair("claims", "cluster"), std::pair("device_plugins_dir", "device-plugins")})
    text += fmt::format("{} = {}\n", key, toml_path((folder / name).native()));
  text +=
      fmt::format("modules_dir = {}\n\n[metrics]\nlisten = \"\"\n\n", toml_path(module.file.parent_path().native()));
  text += fmt::format("[[module]]\nname = {}\npath = {}\n", toml_string(module.name),
                      toml_path(module.file.filename().native()));
  const auto path = [](const fs::path& one) { return toml_path(one.native()); };
  if (!module.programs.empty()) text += fmt::format("programs = {}\n", toml_list(module.programs, path));
  if (!module.writes.empty()) text += fmt::format("writes = {}\n", toml_list(module.writes, path));
  if (!module.options.empty()) text += "\n[module.options]\n";
  for (const auto& [key, option] : module.options)
    text += fmt::format("{} = {}\n", toml_string(key), toml_option(option));
  return text + fmt::format("\n[[module.serve]]\ndriver = {}\nselect = {{ id = \"*\" }}\n", toml_string(module.driver));
}

std::string desk_claim(const admin::v1::Device& device) {
  const json::value result = {
      {"request", "main"}, {"driver", device.driver()}, {"pool", device.pool()}, {"device", device.name()}};
  return json::serialize(json::value{{"apiVersion", "resource.k8s.io/v1"},
                                     {"kind", "ResourceClaim"},
                                     {"metadata", {{"namespace", "default"}, {"name", "try"}, {"uid", kClaimUid}}},
                                     {"status", {{"allocation", {{"devices", {{"results", json::array{result}}}}}}}}}) +
         "\n";
}

Result<DeskNode> DeskNode::make(DeskModule module) {
  std::string pattern = "/tmp/cardcage-run.XXXXXX";  // short: the path of a socket has at most 107 bytes
  if (!::mkdtemp(pattern.data())) return fail_errno(errno, "cannot make a folder in /tmp");
  DeskNode node(std::move(module), pattern);
  if (auto made = make_folder(node.folder_ / "cluster/claims", 0755); !made) return std::unexpected(made.error());
  const std::string config = desk_config(node.module_, node.folder_);
  auto written = write_file_atomically(node.folder_ / "node.toml", config, 0600, false);
  if (!written) return std::unexpected(written.error());
  return node;
}

DeskNode::DeskNode(DeskNode&& other) noexcept
    : module_(other.module_), folder_(std::exchange(other.folder_, {})), daemon_(std::exchange(other.daemon_, -1)) {}

DeskNode::~DeskNode() {
  if (daemon_ > 0) {
    ::kill(daemon_, SIGTERM);
    ::waitpid(daemon_, &status_, 0);
  }
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

Status DeskNode::start(bool quiet) {
  const auto program = program_beside("cardcage");
  if (!program) return std::unexpected(program.error());
  UniqueFd log;
  if (quiet) {
    const fs::path file = folder_ / "log";
    log = UniqueFd(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!log) return fail_errno(errno, fmt::format("cannot write '{}'", file.native()));
  }
  catch_signals();
  const auto started = start_program(*program, {"--no-restart", "--config", folder_ / "node.toml"}, log);
  if (!started) return within(started.error(), "the daemon (package cardcage)");
  daemon_ = *started;
  return {};
}

bool DeskNode::has_ended() {
  if (daemon_ > 0 && ::waitpid(daemon_, &status_, WNOHANG) == daemon_) daemon_ = -1;
  return daemon_ < 0;
}

Status DeskNode::check_module() const {
  const auto list = ask(socket(), &admin::v1::Admin::Stub::ListModules);
  if (!list) return {};  // the daemon still starts
  for (const admin::v1::Module& module : list->modules())
    if (module.state().level() == "bad")
      return fail(Code::kFailedPrecondition, "module '{}' does not run: {}", module.name(),
                  printable(to_text(module.state())));
  return {};
}

Result<admin::v1::Device> DeskNode::wait_for_device() {
  const auto limit = std::chrono::steady_clock::now() + kDeviceLimit;
  while (interrupted == 0 && std::chrono::steady_clock::now() < limit) {
    if (has_ended())
      return fail(Code::kUnavailable, "the daemon ended before module '{}' listed a device", module_.name);
    if (auto running = check_module(); !running) return std::unexpected(running.error());
    const auto list = ask(socket(), &admin::v1::Admin::Stub::ListDevices);
    const auto devices = list ? list->devices() : google::protobuf::RepeatedPtrField<admin::v1::Device>();
    for (const admin::v1::Device& device : devices) {
      if (device.driver() != module_.driver || !is_usable(device)) continue;
      const std::string claim = desk_claim(device);
      for (const fs::path& file : {claim_file(), folder_ / "cluster/claims/default_try.json"})
        if (auto saved = write_file_atomically(file, claim, 0600, false); !saved) return std::unexpected(saved.error());
      return device;
    }
    std::this_thread::sleep_for(kPoll);
  }
  if (interrupted != 0) return cut_off();
  return fail(Code::kDeadlineExceeded, "module '{}' listed no usable device within {} s; its log says why",
              module_.name, kDeviceLimit.count());
}

Result<int> DeskNode::run_cagectl(std::vector<std::string> arguments) const {
  if (interrupted != 0) return cut_off();
  std::fflush(stdout);
  arguments.insert(arguments.begin(), {"--socket", socket().native()});
  const auto child = start_program("/proc/self/exe", std::move(arguments));
  if (!child) return std::unexpected(child.error());
  int status = 0;
  while (::waitpid(*child, &status, 0) < 0 && errno == EINTR) ::kill(*child, SIGTERM);
  if (interrupted != 0) return cut_off();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

Status DeskNode::wait() {
  while (interrupted == 0 && !has_ended()) std::this_thread::sleep_for(kPoll);
  if (daemon_ > 0) return {};  // interrupted; the destructor ends it
  if (WIFEXITED(status_) && WEXITSTATUS(status_) == 0) return {};
  return fail(Code::kInternal, "the daemon failed; its log says why");
}

std::string DeskNode::log() const { return read_file(folder_ / "log", kMaxLog).value_or(""); }

}  // namespace cardcage
