#include "host/apiserver/embedded_node.h"

#include <gmock/gmock.h>

#include <boost/asio/bind_cancellation_slot.hpp>

#include "host/core/file.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Task<void> watch_into(EmbeddedNode& node, std::string& version, std::vector<SliceEvent>& events, Status& ended) {
  std::function<void(SliceEvent)> take = [&events](SliceEvent event) { events.push_back(std::move(event)); };
  ended = co_await node.watch_slices("d.example.com", "n1", version, std::move(take));
}

class EmbeddedNodeTest : public CoreFixture {
 protected:
  void SetUp() override {
    write("machine-id", "0123456789abcdef0123456789abcdef\n");
    restart();
  }
  void restart() {
    auto made = EmbeddedNode::make(core, clock, folder.path(), folder / "machine-id");
    ASSERT_TRUE(made) << made.error().message;
    node = std::move(*made);
  }
  void write(const std::string& name, const std::string& content) {
    ASSERT_TRUE(write_file_atomically(folder / name, content, 0644, false));
  }
  static std::string claim(const std::string& name) {
    return fmt::format(
        R"({{"metadata":{{"namespace":"ns","name":"{}","uid":"u-1"}},"status":{{"allocation":{{"devices":{{
      "results":[{{"request":"r","driver":"d","pool":"n1","device":"x"}}]}}}}}}}})",
        name);
  }
  static Slice slice(std::string driver = "d.example.com") {
    Slice made;
    made.generate_name = "00000-d-";
    made.driver = std::move(driver);
    made.node_name = "n1";
    made.pool = {"n1", 1, 1};
    made.devices = {{.name = "x"}};
    return made;
  }
  Result<Claim> get(const std::string& name) { return run(node->get_claim("ns", name, Instant::max())); }
  Slice create() { return run(node->create_slice(slice(), Instant::max())).value(); }
  SliceList list() { return run(node->list_slices("d.example.com", "n1", Instant::max())).value(); }
  // Runs the core until the watch has delivered `count` events, at most a second.
  void expect_events(const std::vector<SliceEvent>& events, std::size_t count) {
    const Instant end = std::chrono::steady_clock::now() + 1s;
    core.restart();
    while (events.size() < count && std::chrono::steady_clock::now() < end) core.run_one_for(10ms);
    ASSERT_EQ(events.size(), count);
  }

  ScratchFolder folder;
  FakeClock clock;
  std::unique_ptr<EmbeddedNode> node;
};

TEST_F(EmbeddedNodeTest, ClaimsAreFilesInJsonOrYaml) {
  write("claims/ns_c1.json", claim("c1"));
  write("claims/ns_c2.yaml", "metadata: {namespace: ns, name: c2, uid: u-2}\nstatus: {allocation: {}}\n");
  EXPECT_EQ(get("c1")->allocations.at(0).device, "x");
  EXPECT_EQ(get("c2")->ref.uid, "u-2");
  EXPECT_TRUE(get("c2")->allocated);
}

TEST_F(EmbeddedNodeTest, AMissingClaimNamesTheFileToWrite) {
  const auto missing = get("c9");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr((folder / "claims/ns_c9.json").native()));
}

TEST_F(EmbeddedNodeTest, NamesNeverLeaveTheFolder) {
  EXPECT_EQ(get("../../etc/passwd").error().code, Code::kInvalidArgument);
  EXPECT_EQ(run(node->get_claim("..", "c1", Instant::max())).error().code, Code::kInvalidArgument);
  Slice evil = slice();
  evil.name = "../evil";
  EXPECT_EQ(run(node->create_slice(evil, Instant::max())).error().code, Code::kInvalidArgument);
}

TEST_F(EmbeddedNodeTest, ErrorsInClaimFilesAreExplained) {
  write("claims/ns_c1.json", "{");
  EXPECT_THAT(get("c1").error().message, HasSubstr("ns_c1.json' is not JSON"));
  write("claims/ns_c2.json", claim("other"));
  EXPECT_THAT(get("c2").error().message, HasSubstr("holds ResourceClaim 'ns/other'"));
  write("claims/ns_c3.json", R"({"metadata":{"namespace":"ns","name":"c3"}})");
  EXPECT_THAT(get("c3").error().message, HasSubstr("metadata.uid is missing"));
}

TEST_F(EmbeddedNodeTest, StatusOfDevicesIsAFileBesideTheClaim) {
  write("claims/ns_c1.json", claim("c1"));
  const auto apply = [&](const std::string& driver, std::vector<DeviceStatus> devices, std::string uid = "u-1") {
    return run(node->apply_claim_status({"ns", "c1", std::move(uid)}, driver, std::move(devices), Instant::max()));
  };
  const auto stored = [&] { return read_file(folder / "statuses/ns_c1.json", 4096).value_or(""); };
  ASSERT_TRUE(apply("d", {{.driver = "d", .pool = "n1", .device = "x", .data = R"({"a":1})"}}));
  ASSERT_TRUE(apply("e", {{.driver = "e", .pool = "n1", .device = "y"}}));
  EXPECT_EQ(stored(), R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim",)"
                      R"("metadata":{"namespace":"ns","name":"c1","uid":"u-1"},"status":{"devices":[)"
                      R"({"driver":"d","pool":"n1","device":"x","conditions":[],"data":{"a":1}},)"
                      R"({"driver":"e","pool":"n1","device":"y","conditions":[]}]}})"
                      "\n");
  EXPECT_TRUE(get("c1")) << "the claim stays as its user wrote it";
  EXPECT_EQ(apply("d", {}, "u-2").error().code, Code::kAborted);
  ASSERT_TRUE(apply("d", {}));
  EXPECT_THAT(stored(), AllOf(HasSubstr(R"("driver":"e")"), Not(HasSubstr(R"("driver":"d")"))));
  ASSERT_TRUE(apply("e", {}));
  EXPECT_FALSE(std::filesystem::exists(folder / "statuses/ns_c1.json"));
  std::filesystem::remove(folder / "claims/ns_c1.json");
  EXPECT_EQ(apply("d", {}).error().code, Code::kNotFound);
}

TEST_F(EmbeddedNodeTest, TheNodeHasAStableUid) {
  EXPECT_EQ(run(node->get_node("n1", Instant::max())).value().uid, "01234567-89ab-cdef-0123-456789abcdef");
  std::filesystem::remove(folder / "machine-id");
  restart();
  EXPECT_EQ(run(node->get_node("n1", Instant::max())).value().uid, "00000000-0000-0000-0000-000000000000");
}

TEST_F(EmbeddedNodeTest, SlicesLiveInFilesAndSurviveARestart) {
  const Slice stored = create();
  EXPECT_THAT(stored.name, HasSubstr("00000-d-"));
  EXPECT_FALSE(stored.uid.empty());
  EXPECT_TRUE(std::filesystem::exists(folder / "slices" / (stored.name + ".json")));
  restart();
  const auto again = list();
  ASSERT_EQ(again.slices.size(), 1u);
  EXPECT_EQ(again.slices[0].devices, stored.devices);
  EXPECT_EQ(again.slices[0].uid, stored.uid);
}

TEST_F(EmbeddedNodeTest, VersionsRiseAndStaleWritesAreRefused) {
  const Slice first = create();
  Slice second = first;
  second.pool.generation = 2;
  const auto updated = run(node->update_slice(second, Instant::max()));
  ASSERT_TRUE(updated) << updated.error().message;
  EXPECT_GT(std::stoull(updated->resource_version), std::stoull(first.resource_version));
  EXPECT_EQ(updated->pool.generation, 2);
  EXPECT_EQ(run(node->update_slice(first, Instant::max())).error().code, Code::kAborted);
  EXPECT_EQ(run(node->delete_slice(first, Instant::max())).error().code, Code::kAborted);
  EXPECT_TRUE(run(node->delete_slice(*updated, Instant::max())));
  EXPECT_TRUE(run(node->delete_slice(*updated, Instant::max()))) << "it does not exist any more";
  EXPECT_EQ(run(node->update_slice(*updated, Instant::max())).error().code, Code::kNotFound);
}

TEST_F(EmbeddedNodeTest, ANameCanBeUsedOnlyOnce) {
  Slice named = slice();
  named.name = "mine";
  EXPECT_TRUE(run(node->create_slice(named, Instant::max())));
  EXPECT_EQ(run(node->create_slice(named, Instant::max())).error().code, Code::kAlreadyExists);
}

TEST_F(EmbeddedNodeTest, ANewTaintGetsItsTime) {
  Slice tainted = slice();
  tainted.devices[0].taints = {{"k", "v", "NoSchedule", ""}};
  const auto stored = run(node->create_slice(tainted, Instant::max()));
  EXPECT_EQ(stored->devices[0].taints[0].time_added, "2027-01-15T08:00:00Z");
}

TEST_F(EmbeddedNodeTest, DoesNotReadAgainWhatItHasWritten) {
  Slice sent = slice();
  sent.devices[0].attributes["model"] = std::string("A1");
  const auto stored = run(node->create_slice(sent, Instant::max()));
  ASSERT_TRUE(stored);
  EXPECT_EQ(&stored->devices[0].attributes.at("model"), &sent.devices[0].attributes.at("model"));
  EXPECT_EQ(&list().slices[0].devices[0].attributes.at("model"), &sent.devices[0].attributes.at("model"));
  restart();
  EXPECT_EQ(list().slices[0].devices[0].attributes, sent.devices[0].attributes);
}

class EmbeddedWatchTest : public EmbeddedNodeTest {
 protected:
  void watch(std::string from) {
    version = std::move(from);
    asio::co_spawn(core, watch_into(*node, version, events, ended),
                   asio::bind_cancellation_slot(cancel.slot(), asio::detached));
    settle();
  }

  std::string version;
  std::vector<SliceEvent> events;
  Status ended = fail(Code::kUnknown, "it runs");
  asio::cancellation_signal cancel;
};

TEST_F(EmbeddedWatchTest, OurOwnWritesAreEvents) {
  watch(list().resource_version);
  const Slice stored = create();
  Slice changed = stored;
  changed.devices.clear();
  const auto updated = run(node->update_slice(changed, Instant::max()));
  ASSERT_TRUE(run(node->delete_slice(*updated, Instant::max())));
  expect_events(events, 3);
  EXPECT_FALSE(events[0].deleted);
  EXPECT_FALSE(events[1].deleted);
  EXPECT_TRUE(events[2].deleted);
  EXPECT_EQ(version, events[2].slice.resource_version);
}

TEST_F(EmbeddedWatchTest, AFileDeletedByHandIsAnEvent) {
  const Slice stored = create();
  watch(list().resource_version);
  std::filesystem::remove(folder / "slices" / (stored.name + ".json"));
  expect_events(events, 1);
  EXPECT_TRUE(events[0].deleted);
  EXPECT_EQ(events[0].slice.name, stored.name);
}

TEST_F(EmbeddedWatchTest, ChangesBetweenListAndWatchAreNotLost) {
  const Slice stored = create();
  const auto from = list().resource_version;
  std::filesystem::remove(folder / "slices" / (stored.name + ".json"));
  watch(from);
  expect_events(events, 1);
  EXPECT_TRUE(events[0].deleted);
}

TEST_F(EmbeddedWatchTest, SlicesOfOtherDriversAreIgnored) {
  watch(list().resource_version);
  ASSERT_TRUE(run(node->create_slice(slice("other.example.com"), Instant::max())));
  create();
  expect_events(events, 1);
  EXPECT_EQ(events[0].slice.driver, "d.example.com");
}

TEST_F(EmbeddedWatchTest, AnOldVersionMustBeListedAgain) {
  create();
  restart();
  watch("0");
  EXPECT_EQ(ended.error().code, Code::kOutOfRange);
}

TEST_F(EmbeddedWatchTest, AFileThatIsNoSliceIsIgnored) {
  watch(list().resource_version);
  write("slices/broken.json", "{");
  write("slices/named.json", R"({"metadata":{"name":"other"},"spec":{"driver":"d.example.com","pool":{"name":"n1"}}})");
  create();
  expect_events(events, 1);
  EXPECT_EQ(list().slices.size(), 1u);
}

TEST_F(EmbeddedWatchTest, AVersionWrittenByHandCannotBreakTheCounter) {
  write("slices/s1.json",
        R"({"metadata":{"name":"s1","resourceVersion":"18446744073709551615"},"spec":{"driver":"d.example.com",
            "nodeName":"n1","pool":{"name":"n1"}}})");
  EXPECT_EQ(list().slices.size(), 1u);
  EXPECT_LT(std::stoull(create().resource_version), 10u);
}

TEST_F(EmbeddedWatchTest, ACancelledWatchEnds) {
  watch(list().resource_version);
  cancel.emit(asio::cancellation_type::terminal);
  settle();
  EXPECT_EQ(ended.error().code, Code::kCancelled);
}

TEST_F(EmbeddedWatchTest, AWatchEndsWhenItsFolderDisappears) {
  watch(list().resource_version);
  std::filesystem::remove_all(folder / "slices");
  const Instant end = std::chrono::steady_clock::now() + 1s;
  core.restart();
  while (!ended && std::chrono::steady_clock::now() < end) core.run_one_for(10ms);
  EXPECT_TRUE(ended);
}

TEST_F(EmbeddedNodeTest, EventsAreFilesAndTheNewestStay) {
  NodeEvent event{.type = NodeEvent::Type::kWarning,
                  .node = "n1",
                  .name = "n1.a",
                  .reason = "DeviceGone",
                  .note = "gpu-0 is gone",
                  .first = clock.wall(),
                  .last = clock.wall()};
  const auto files = [&] {
    const std::filesystem::directory_iterator folder_of_events(folder / "events");
    return std::distance(begin(folder_of_events), end(folder_of_events));
  };
  ASSERT_TRUE(run(node->write_event(event, Instant::max())));
  event.count = 2;
  ASSERT_TRUE(run(node->write_event(event, Instant::max())));
  EXPECT_EQ(files(), 1);
  EXPECT_THAT(read_file(folder / "events/n1.a.json", 4096).value(), HasSubstr("\"count\":2"));
  std::filesystem::last_write_time(folder / "events/n1.a.json", std::filesystem::file_time_type::clock::now() - 1h);
  for (int i = 0; i < 100; ++i) {
    event.name = fmt::format("n1.b{}", i);
    ASSERT_TRUE(run(node->write_event(event, Instant::max())));
  }
  EXPECT_EQ(files(), 100);
  EXPECT_FALSE(std::filesystem::exists(folder / "events/n1.a.json")) << "the oldest";
  event.name = "../slices/x";
  EXPECT_EQ(run(node->write_event(event, Instant::max())).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace cardcage
