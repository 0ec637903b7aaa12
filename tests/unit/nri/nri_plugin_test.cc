#include "host/nri/nri_plugin.h"

#include "tests/unit/nri/nri_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class NriPluginTest : public NriFixture {};

TEST_F(NriPluginTest, RegistersForTheStartAndTheStopOfPods) {
  runtime.pods = {nri_pod("a", "/var/run/netns/a"), nri_pod("host", "")};
  connect();
  EXPECT_EQ(runtime.registered->plugin_name(), "cardcage");
  EXPECT_EQ(runtime.registered->plugin_idx(), "10");
  EXPECT_EQ(runtime.configured->events(), 3);
  EXPECT_THAT(running, ElementsAre(ElementsAre(sandbox("a", "/var/run/netns/a"), sandbox("host", ""))));
  EXPECT_EQ(plugin->condition(), (Condition{Level::kGood, "connected", "containerd v2.2.9"}));
}

TEST_F(NriPluginTest, CollectsThePartsOfASynchronization) {
  for (int i = 0; i < 25; ++i) runtime.pods.push_back(nri_pod("p" + std::to_string(i), ""));
  runtime.pods_per_part = 10;
  connect();
  EXPECT_THAT(running, ElementsAre(SizeIs(25)));
  ASSERT_THAT(runtime.synchronized, SizeIs(3));
  EXPECT_TRUE(runtime.synchronized[0].more() && runtime.synchronized[1].more() && !runtime.synchronized[2].more());
}

TEST_F(NriPluginTest, LeavesOutASandboxThatItCannotRead) {
  runtime.pods = {nri_pod("a", "/var/run/netns/../a"), nri_pod("b", "/b")};
  runtime.pods.push_back(nri_pod("c", "/c"));
  runtime.pods.back().set_uid("../c");
  connect();
  EXPECT_THAT(running, ElementsAre(ElementsAre(sandbox("b", "/b"))));
}

TEST_F(NriPluginTest, WaitsForARuntimeThatIsNotThere) {
  begin();
  for (int i = 0; i < 10; ++i) {
    clock.advance(5s);
    settle();
  }
  EXPECT_EQ(plugin->condition().level, Level::kInProgress);
  EXPECT_EQ(plugin->condition().reason, "no runtime");
  EXPECT_THAT(plugin->condition().text, HasSubstr("nri.sock': No such file or directory"));
  runtime.listen();  // the new socket is an event of the folder
  EXPECT_TRUE(runs_until([&] {
    clock.advance(10ms);
    return plugin->condition().level == Level::kGood;
  }));
}

TEST_F(NriPluginTest, FindsASocketInAFolderThatWasMissing) {
  FakeNriRuntime late(core, folder / "run/nri.sock");
  NriListener listener;
  listener.connected = [](const std::vector<RuntimeSandbox>&) {};
  plugin = std::make_unique<NriPlugin>(core, clock, folder / "run/nri.sock", std::move(listener));
  begin();
  late.listen();
  EXPECT_TRUE(runs_until([&] {
    clock.advance(1s);
    return plugin->condition().level == Level::kGood;
  }));
}

TEST_F(NriPluginTest, ConnectsAgainToARuntimeThatHasRestarted) {
  connect();
  runtime.stop_listening();
  runtime.hang_up();
  EXPECT_TRUE(runs_until([&] { return plugin->condition().level == Level::kInProgress; }));
  settle();
  runtime.pods = {nri_pod("new", "")};
  runtime.listen();
  EXPECT_TRUE(runs_until([&] {
    clock.advance(100ms);
    return running.size() == 2;
  }));
  EXPECT_THAT(running.back(), ElementsAre(sandbox("new", "")));
}

TEST_F(NriPluginTest, TellsWhyItMayNotRegister) {
  runtime.refusal = "plugins are not welcome";
  runtime.listen();
  begin();
  ASSERT_TRUE(runs_until([&] { return plugin->condition().level == Level::kBad; }));
  EXPECT_EQ(plugin->condition().text, "cannot register as a plugin: plugins are not welcome");
  clock.advance(1s);
  EXPECT_TRUE(runs_until([&] { return runtime.connections == 2; })) << "it tries again";
}

TEST_F(NriPluginTest, GivesUpARegistrationWithoutAResponse) {
  runtime.is_silent = true;
  runtime.listen();
  begin();
  ASSERT_TRUE(runs_until([&] { return runtime.registered.has_value(); }));
  EXPECT_EQ(plugin->condition().reason, "registering");
  clock.advance(61s);
  ASSERT_TRUE(runs_until([&] { return plugin->condition().level == Level::kBad; }));
  EXPECT_THAT(plugin->condition().text, HasSubstr("does not respond to RegisterPlugin"));
}

TEST_F(NriPluginTest, RefusesAPathThatNoSocketCanHave) {
  NriListener listener;
  plugin = std::make_unique<NriPlugin>(core, clock, folder / std::string(120, 'x'), std::move(listener));
  begin();
  EXPECT_EQ(plugin->condition().level, Level::kBad);
  EXPECT_THAT(plugin->condition().text, HasSubstr("unix sockets allow 107"));
}

TEST_F(NriPluginTest, IgnoresFramesOfTypesAndChannelsThatItDoesNotKnow) {
  connect();
  TtrpcFrame frame;
  frame.type = static_cast<TtrpcFrame::Type>(9);
  frame.message = "\xff";
  runtime.send_raw(multiplex(Channel::kPlugin, *encode_ttrpc_frame(frame)));
  frame.type = TtrpcFrame::Type::kResponse;  // a response to no call
  runtime.send_raw(multiplex(Channel::kRuntime, *encode_ttrpc_frame(frame)));
  runtime.send_raw(multiplex(static_cast<Channel>(99), "whatever"));
  EXPECT_TRUE(response(runtime.state_change(kRun, nri_pod("a", ""))));
  EXPECT_EQ(runtime.connections, 1);
}

TEST_F(NriPluginTest, LeavesARuntimeThatDoesNotRead) {
  connect();
  runtime.is_deaf = true;
  for (int i = 0; i < 100'000 && plugin->condition().level == Level::kGood; ++i) {
    runtime.call(kNriPluginService, "NoSuchMethod", "");
    settle();
  }
  EXPECT_THAT(plugin->condition().text, HasSubstr("does not read what it is sent"));
}

TEST_F(NriPluginTest, LeavesARuntimeThatTalksNonsenseAndComesBack) {
  connect();
  for (const std::string& nonsense :
       {std::string("HTTP/1.1 400 Bad Request"), std::string(300, '\xff'),
        multiplex(Channel::kPlugin, std::string(300, '\xff')),
        multiplex(Channel::kPlugin, *encode_ttrpc_frame({1, TtrpcFrame::Type::kRequest, 0, "\xff"}))}) {
    const int before = runtime.connections;
    runtime.send_raw(nonsense);
    ASSERT_TRUE(runs_until([&] { return plugin->condition().level == Level::kBad; }));
    EXPECT_EQ(plugin->condition().reason, "failed");
    EXPECT_TRUE(runs_until([&] {
      clock.advance(100ms);
      return runtime.connections == before + 1 && plugin->condition().level == Level::kGood;
    }));
  }
}

}  // namespace
}  // namespace cardcage
