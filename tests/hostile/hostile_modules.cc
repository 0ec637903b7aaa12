#include "tests/hostile/hostile_modules.h"

#include <fcntl.h>

#include <set>

#include "host/core/unique_fd.h"
#include "host/sinks/snapshot_sink.h"
#include "host/wire/frame.h"
#include "host/wire/messages.h"
#include "tests/fakes/proc.h"

namespace cardcage {
namespace {

using std::chrono::seconds;
using ::testing::SizeIs;

constexpr int kFirstSpare = 200;

int spare_descriptor() {
  const UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return ::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstSpare);
}

}  // namespace

HostileModules::HostileModules() : ModuleFixture(GetParam().isolation), spare_(spare_descriptor()) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
}

void HostileModules::use_a_good_module() {
  const auto good = load(config("scripted.so"));
  ASSERT_TRUE(good) << good.error().message;
  const Status started = run((*good)->start({}, soon()));
  ASSERT_TRUE(started) << started.error().message;
  const auto snapshot = run((*good)->call(DiscoverCall{}, soon()));
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  EXPECT_THAT((*snapshot)->devices, SizeIs(2));
  EXPECT_TRUE(run((*good)->call(PrepareCall{claim("good")}, soon())));
  EXPECT_TRUE(run((*good)->stop(soon())));
}

Status HostileModules::start_faulty() {
  return start(fault().file, fault().behave.empty() ? Options() : scripted(fault().behave));
}

Status HostileModules::only_start() { return start_faulty(); }

// Checks that a module that survives its fault keeps working.
Status HostileModules::check(const std::string& device_id) {
  if (auto started = start_faulty(); !started) return started;
  if (auto checked = run(module->call(CheckCall{{device_id}}, soon())); !checked)
    return std::unexpected(checked.error());
  const auto snapshot = run(module->call(DiscoverCall{}, soon()));
  return snapshot ? Status() : std::unexpected(snapshot.error());
}

Status HostileModules::check_once() { return check("dev-0"); }

Status HostileModules::reset_once() {
  if (auto started = start_faulty(); !started) return started;
  return run(module->call(ResetCall{"dev-0"}, soon()));
}

Status HostileModules::discover_once() {
  if (auto started = start_faulty(); !started) return started;
  const auto snapshot = run(module->call(DiscoverCall{}, soon()));
  return snapshot ? Status() : std::unexpected(snapshot.error());
}

Status HostileModules::find_only_the_valid_device() {
  if (auto started = start_faulty(); !started) return started;
  const auto snapshot = run(module->call(DiscoverCall{}, soon()));
  if (!snapshot) return std::unexpected(snapshot.error());
  EXPECT_THAT((*snapshot)->devices, SizeIs(1));
  EXPECT_NE((*snapshot)->find("dev-0"), nullptr);
  return {};
}

Status HostileModules::find_as_many_devices_as_allowed() {
  if (auto started = start_faulty(); !started) return started;
  const auto snapshot = run(module->call(DiscoverCall{}, soon()));
  if (!snapshot) return std::unexpected(snapshot.error());
  EXPECT_THAT((*snapshot)->devices, SizeIs(kMaxDevices));
  EXPECT_THAT((*snapshot)->left_out, SizeIs(kMaxLeftOut));
  return {};
}

Status HostileModules::hang_while_loaded() {
  ::setenv("CARDCAGE_TEST_RELEASE", (folder / "release").c_str(), 1);
  const auto loaded = begin(load_file(core, clock, config(fault().file), modules_dir, soon()));
  EXPECT_TRUE(is_hanging());
  ::unsetenv("CARDCAGE_TEST_RELEASE");
  advance(seconds(10));
  EXPECT_TRUE(eventually([&] { return loaded->has_value(); }));
  if (!*loaded || **loaded) return {};
  return std::unexpected((*loaded)->error());
}

// Runs past the deadline, until the host gives up.
Status HostileModules::hang_in(Task<Status> call) {
  const auto call_result = begin(std::move(call));
  EXPECT_TRUE(is_hanging());
  advance(seconds(10));
  EXPECT_TRUE(call_result->has_value());
  advance(seconds(5));
  EXPECT_TRUE(eventually([this] { return lost.has_value(); }));
  return lost ? std::unexpected(*lost) : Status();
}

Status HostileModules::hang_in_start() {
  auto loaded = load(config(fault().file, scripted(fault().behave)));
  if (!loaded) return std::unexpected(loaded.error());
  module = *loaded;
  return hang_in(module->start(events(), soon()));
}

static Task<Status> without_count(Task<Result<std::size_t>> check) {
  const auto checked = co_await std::move(check);
  co_return checked ? Status() : std::unexpected(checked.error());
}

Status HostileModules::hang_in_check() {
  if (auto started = start_faulty(); !started) return started;
  return hang_in(without_count(module->call(CheckCall{{"dev-0"}}, soon())));
}

Status HostileModules::hang_in_events() {
  if (auto started = start_faulty(); !started) return started;
  EventBatch loss{.events = {}, .lost = true};
  return hang_in(module->call(EventsCall{std::move(loss)}, soon()));
}

Status HostileModules::flood_with_events() {
  if (auto started = start_faulty(); !started) return started;
  for (const char* order : {"many", "closed", "file"})
    EXPECT_FALSE(run(module->call(ResetCall{order}, soon()))) << order;
  const Event event{.type = EventType::kUevent, .time = {}, .text = std::string(kMaxEventText / kMaxEvents, 'x')};
  const EventBatch batch{.events = std::vector<Event>(kMaxEvents, event), .lost = true};
  for (int i = 0; i < 10; ++i)
    if (auto delivered = run(module->call(EventsCall{batch}, soon())); !delivered) return delivered;
  const auto snapshot = run(module->call(DiscoverCall{}, soon()));
  return snapshot ? Status() : std::unexpected(snapshot.error());
}

Status HostileModules::close_a_polled_descriptor() {
  if (auto started = start_faulty(); !started) return started;
  for (const char* order : {"pipe", "write", "close"})
    if (auto done = run(module->call(ResetCall{order}, soon())); !done) return done;
  EventBatch batch;
  for (std::int32_t descriptor = -1; descriptor < 200; ++descriptor)
    batch.events.push_back({.type = EventType::kDescriptor, .time = {}, .text = {}, .descriptor = descriptor});
  for (int i = 0; i < 2; ++i)
    if (auto delivered = run(module->call(EventsCall{batch}, soon())); !delivered) return delivered;
  const auto snapshot = run(module->call(DiscoverCall{}, soon()));
  return snapshot ? Status() : std::unexpected(snapshot.error());
}

Status HostileModules::use_late_sinks() {
  if (auto discovered = discover_once(); !discovered) return discovered;
  EXPECT_TRUE(run(module->call(PrepareCall{claim("u1")}, soon())));
  if (auto checked = run(module->call(CheckCall{{"dev-0"}}, soon())); !checked) return std::unexpected(checked.error());
  const auto snapshot = run(module->call(DiscoverCall{}, soon()));
  if (!snapshot) return std::unexpected(snapshot.error());
  EXPECT_EQ((*snapshot)->find("late"), nullptr);
  return {};
}

Status HostileModules::hear_eight_threads() {
  if (auto checked = check_once(); !checked) return checked;
  const auto all_reported = [this] {
    clock.advance(std::chrono::milliseconds(10));  // between two reports of a module inside the daemon
    std::set<std::string> ids;
    for (const auto& [id, health] : reports) ids.insert(id);
    return ids.size() == 8 && rescans > 0;
  };
  EXPECT_TRUE(eventually(all_reported));
  return {};
}

Status HostileModules::fork_and_check(const std::string& how) {
  if (auto checked = check(how); !checked) return checked;
  EXPECT_TRUE(eventually([this] { return !reports.empty(); }));
  if (reports.empty()) return {};
  left_children.push_back(std::stoi(reports[0].first));
  EXPECT_TRUE(proc::is_alive(left_children[0]));
  return {};
}

Status HostileModules::leave_a_child() { return fork_and_check("stay"); }
Status HostileModules::leave_an_escaped_child() { return fork_and_check("escape"); }
Status HostileModules::leave_a_hidden_child() { return fork_and_check("hide"); }

Status HostileModules::close_descriptors() {
  return check(isolation == Isolation::kProcess ? "3" : std::to_string(spare_));
}

Status HostileModules::parse_with_both() {
  if (auto checked = check_once(); !checked) return checked;
  EXPECT_TRUE(eventually([this] { return !reports.empty(); }));
  if (!reports.empty()) {
    EXPECT_EQ(reports[0].first, "the-module");
  }
  wire::Request sent, received;
  sent.set_reset("dev-0");
  FrameReader reader;
  reader.append(*encode_frame(sent));
  EXPECT_TRUE(reader.next(received).value_or(false));
  EXPECT_EQ(received.reset(), "dev-0");
  return {};
}

}  // namespace cardcage
