// Passes changes of the daemon on to the open pages.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <set>

#include "ctl/web/daemon_client.h"
#include "host/core/task_group.h"
#include "web/server/exchange.h"

namespace cardcage {

// [core] Watches the daemon while a page is open, with one stream for all pages. Events of a page:
//   change  {"sections":["devices","claims"]}  these reports have changed
//   gone    {}                                 the daemon does not respond
//   back    {}                                 it does again; a change of all sections follows
class ChangeHub {
 public:
  class Reader;

  // `client` and the clock outlive the hub.
  ChangeHub(asio::io_context& core, Clock& clock, const DaemonClient& client);
  ~ChangeHub();
  ChangeHub(const ChangeHub&) = delete;
  ChangeHub& operator=(const ChangeHub&) = delete;

  // Returns when the daemon is watched, or does not respond. The reader gets each change from then on.
  Task<std::unique_ptr<Reader>> open();
  // Ends the watch. Await it before the destructor, when all readers have gone.
  Task<void> stop();

 private:
  static constexpr std::size_t kSections = 7;
  using Counts = std::array<std::uint32_t, kSections>;
  using Sections = std::array<bool, kSections>;

  Task<void> run();
  Task<void> watch();
  void settle(bool connected);
  void pass_on(const Counts& counts);
  void detach(Reader* reader);

  asio::io_context& core_;
  Clock& clock_;
  const DaemonClient& client_;
  std::set<Reader*> readers_;
  std::optional<Counts> counts_;  // last event of the current stream
  bool settled_ = false;          // the state of the daemon is known
  bool connected_ = true;
  bool stopping_ = false;
  asio::steady_timer settling_;  // cancelled once the state is known
  Wakeup wake_;
  TaskGroup tasks_;
};

// [core] One page.
class ChangeHub::Reader final : public EventSource {
 public:
  explicit Reader(ChangeHub& hub) : hub_(hub) {}
  ~Reader() override { hub_.detach(this); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  std::optional<WebEvent> take() override;
  // Calls `ready` whenever there is something to take.
  void notify(std::function<void()> ready) { ready_ = std::move(ready); }

 private:
  friend class ChangeHub;
  void wake() const {
    if (ready_) ready_();
  }

  ChangeHub& hub_;
  std::function<void()> ready_;
  Sections changed_{};
  bool told_connected_ = true;
};

}  // namespace cardcage
