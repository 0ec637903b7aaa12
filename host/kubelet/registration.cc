#include "host/kubelet/registration.h"

#include <utility>

#include "host/core/log.h"

namespace cardcage {
namespace {

constexpr std::chrono::seconds kSilence{30};

}  // namespace

Result<std::unique_ptr<SocketListener>> open_resource_socket(const Registration::Host& host,
                                                             const std::string& resource, std::filesystem::path path,
                                                             mode_t folder_mode) {
  auto opened =
      SocketListener::open(host.core, std::move(path), folder_mode, host.adopt, SocketListener::Appearance::kListening);
  if (!opened)
    log_limited(LogLevel::kError, "socket " + resource, "cannot serve the resource",
                {{"resource", resource}, {"error", with_key(opened.error(), "node.instance").message}});
  return opened;
}

bool LongSilence::noticed(bool silent, Instant now) {
  if (!silent) {
    since_ = now;
    noticed_ = false;
  }
  return now - since_ >= kSilence && !std::exchange(noticed_, true);
}

}  // namespace cardcage
