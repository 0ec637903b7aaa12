#include "host/nri/nri_plugin.h"

#include <utility>

#include "host/core/log.h"
#include "host/nri/plugin_service.h"
#include "host/nri/protocol.h"

namespace cardcage {

using namespace std::chrono_literals;

namespace {

constexpr const char* kName = "cardcage";
constexpr const char* kIndex = "10";  // position among the plugins; independent of all others
// The runtime registers plugins one after the other and gives each up to 9 s.
constexpr Duration kRegisterLimit = 60s;
// The longest pause is the delay for a socket whose folder is missing and cannot be watched.
constexpr Duration kFirstPause = 100ms, kLongestPause = 5s;

Condition condition_after(const Error& why) {
  const bool absent = why.code == Code::kNotFound || why.code == Code::kUnavailable;
  return {absent ? Level::kInProgress : Level::kBad, absent ? "no runtime" : "failed", why.message};
}

}  // namespace

NriPlugin::NriPlugin(asio::io_context& core, Clock& clock, std::filesystem::path socket, NriListener listener)
    : core_(core),
      clock_(clock),
      socket_(std::move(socket)),
      listener_(std::move(listener)),
      turns_(core),
      pause_(kFirstPause, kLongestPause, socket_.native()),
      look_again_(core),
      folder_(core, [this] {
        pause_.reset();
        look_again_.wake();
      }) {}

Task<void> NriPlugin::run() {
  while (!stopped_) {
    (void)folder_.watch(socket_.parent_path(), FolderWatch::Events::kArrivalsToo);  // the folder may be missing, too
    const Error why = co_await serve();
    if (stopped_) break;
    set_condition(condition_after(why));
    co_await look_again_.wait_for(clock_, pause_.next());
  }
  co_await turns_.join(clock_);
}

void NriPlugin::stop() {
  stopped_ = true;
  if (connection_) connection_->close({Code::kCancelled, "the daemon stops"});
  look_again_.wake();
}

Task<Error> NriPlugin::serve() {
  auto opened = RuntimeConnection::open(core_, socket_);
  if (!opened) co_return opened.error();
  connection_ = *opened;
  set_condition({Level::kInProgress, "registering", ""});
  const PluginService::Environment environment{core_, clock_, listener_, turns_};
  PluginService service(environment, connection_);
  std::function<void(RuntimeConnection::Call)> called = [&](RuntimeConnection::Call call) {
    service.take(std::move(call));
    if (!service.synchronized()) return;
    pause_.reset();
    set_condition({Level::kGood, "connected", service.runtime()});
  };
  spawn(core_, introduce(connection_, clock_));
  co_return co_await connection_->serve(std::move(called));
}

Task<void> NriPlugin::introduce(std::shared_ptr<RuntimeConnection> connection, Clock& clock) {
  api::nri::RegisterPluginRequest request;
  request.set_plugin_name(kName);
  request.set_plugin_idx(kIndex);
  const Instant deadline = clock.now() + kRegisterLimit;
  auto registering =
      connection->call(clock, kNriRuntimeService, "RegisterPlugin", request.SerializeAsString(), deadline);
  const Result<std::string> registered = co_await std::move(registering);
  if (!registered) connection->close(within(registered.error(), "cannot register as a plugin").error());
}

void NriPlugin::set_condition(Condition condition) {
  if (condition == condition_) return;
  condition_ = std::move(condition);
  if (condition_.level == Level::kGood)
    log(LogLevel::kInfo, "connected to the container runtime", {{"runtime", condition_.text}});
  else if (!condition_.text.empty())
    log_limited(condition_.level == Level::kBad ? LogLevel::kWarn : LogLevel::kInfo, "nri",
                "not connected to the container runtime's plugin socket",
                {{"socket", socket_.native()}, {"error", condition_.text}});
}

}  // namespace cardcage
