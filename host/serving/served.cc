#include "host/serving/served.h"

#include <algorithm>

#include "host/core/log.h"
#include "host/dra/driver_server.h"
#include "host/plugin/resource_server.h"

namespace cardcage {
namespace {

// Pauses, since a socket path may be in the way, or the kubelet's folder may not exist yet.
constexpr std::chrono::milliseconds kFirstPause{500}, kLongestPause{2000};

}  // namespace

template <class Server>
Served<Server>::Served(ServedName name, const ServingContext& context)
    : name_(std::move(name)),
      context_(context),
      attempts_(kFirstPause, kLongestPause, name_.name),
      wake_(context_.core),
      runs_(context_.core) {}

template <class Server>
void Served<Server>::start() {
  state_ = Unserved{};
  started_ = context_.clock.now();
  attempts_.reset();
  runs_.spawn(run());
  refresh_soon();
}

template <class Server>
Task<void> Served<Server>::run() {
  Instant next = Instant::max();
  while (running()) {
    co_await wake_.wait_until(context_.clock, next);
    if (!running()) break;
    next = refresh();
    if (const auto* unserved = std::get_if<Unserved>(&state_); unserved && unserved->error)
      next = std::min(next, unserved->next_attempt);
  }
}

template <class Server>
void Served<Server>::serve() {
  auto* const unserved = std::get_if<Unserved>(&state_);
  if (!unserved || context_.clock.now() < unserved->next_attempt) return;
  auto opened = open_server();
  if (opened) {
    state_ = Serving{std::move(*opened)};
    return;
  }
  if (unserved->error != opened.error())
    log(LogLevel::kError, fmt::format("{} cannot be served; trying again every few seconds", name_.kind()),
        {{"kind", name_.kind()}, {"name", name_.name}, {"error", opened.error().message}});
  *unserved = {opened.error(), context_.clock.now() + attempts_.next()};
}

template <class Server>
Task<void> Served<Server>::stop(Instant deadline) {
  if (!running()) co_return;
  const std::unique_ptr<Server> server = serving() ? std::move(std::get<Serving>(state_).server) : nullptr;
  state_ = Stopping{};
  wake_.wake();
  co_await runs_.join(context_.clock, Instant::max());
  co_await before_stop();
  if (server) co_await server->stop(deadline);
  state_ = Stopped{};
}

template <class Server>
std::optional<Error> Served<Server>::server_error() const {
  const auto* const unserved = std::get_if<Unserved>(&state_);
  return unserved ? unserved->error : std::nullopt;
}

template class Served<DriverServer>;
template class Served<ResourceServer>;

}  // namespace cardcage
