#include "host/admin/change_streams.h"

#include "host/admin/messages.h"
#include "host/rpc/message_bytes.h"

namespace cardcage {
namespace {

namespace wire = admin::v1;

// Interval at which the status and the modules are compared with what they were: parts of them come from the kubelet,
// the API server, the runtime and the output of modules, and no event tells that they have changed.
constexpr Duration kCompareInterval = std::chrono::seconds(1);

wire::WatchEvent event_of(const ChangeCounters& changes) {
  wire::WatchEvent event;
  event.set_status(changes.count(Section::kStatus));
  event.set_modules(changes.count(Section::kModules));
  event.set_devices(changes.count(Section::kDevices));
  event.set_claims(changes.count(Section::kClaims));
  event.set_history(changes.count(Section::kHistory));
  event.set_health(changes.count(Section::kHealth));
  event.set_configuration(changes.count(Section::kConfiguration));
  return event;
}

}  // namespace

class ChangeStreams::Reactor final : public StreamReactor<Stream, wire::WatchEvent> {
 public:
  explicit Reactor(OpenStreams<Stream>& streams) : StreamReactor(streams) {}

 private:
  std::size_t send(const wire::WatchEvent& event, std::size_t) override {
    StartWrite(&event);
    return 0;
  }
};

ChangeStreams::ChangeStreams(asio::io_context& core, Clock& clock, DaemonView& view)
    : view_(view),
      streams_(
          core, [this](Stream& stream) { begin(stream); }, [this] { closed(); }),
      publish_(core, clock, kPace, [this] { publish(); }),
      next_comparison_(core, clock) {}

grpc::ServerWriteReactor<wire::WatchEvent>* ChangeStreams::open() { return Reactor::open<Reactor>(streams_); }

void ChangeStreams::shut() {
  streams_.shut();
  closed();
}

void ChangeStreams::begin(Stream& stream) {
  if (streams_.size() == 1) {
    compare_all();
    view_.changes().watch([this] { publish_.request(); });
    compare_later();
  }
  stream.offer(std::make_shared<const wire::WatchEvent>(event_of(view_.changes())));
}

void ChangeStreams::closed() {
  if (!streams_.empty()) return;
  view_.changes().watch({});
  next_comparison_.cancel();
}

void ChangeStreams::publish() {
  if (!streams_.empty()) streams_.offer(std::make_shared<const wire::WatchEvent>(event_of(view_.changes())));
}

void ChangeStreams::compare_all() {
  ChangeCounters& changes = view_.changes();
  wire::GetStatusResponse status;
  fill(status, view_.status());
  status.clear_uptime_seconds();
  wire::ListModulesResponse modules;
  fill(modules, view_.modules());
  std::vector<Section> changed;
  const auto compare = [&](std::string& before, const std::string& now, std::initializer_list<Section> sections) {
    if (std::exchange(before, now) != now) changed.insert(changed.end(), sections);
  };
  compare(config_, message_bytes(status.config()), {Section::kConfiguration, Section::kHealth});
  compare(status_, message_bytes(status), {Section::kStatus});
  compare(modules_, message_bytes(modules), {Section::kModules});
  if (!changed.empty()) changes.note(changed);
}

void ChangeStreams::compare_later() {
  next_comparison_.call_after(kCompareInterval, [this] {
    compare_all();
    compare_later();
  });
}

}  // namespace cardcage
