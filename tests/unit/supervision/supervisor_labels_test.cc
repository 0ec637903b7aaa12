// Times at which a module is asked for the labels of the node.
#include "tests/unit/supervision/supervisor_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class SupervisorLabelsTest : public SupervisorFixture {
 protected:
  SupervisorLabelsTest() {
    module->about.families.add(Family::kLabels);
    module->labels.values = {{"example.com/driver", "1"}};
  }
  void rescan() {
    module->events.rescan();
    settle();
    clock.advance(20ms);
    settle();
  }
};

TEST_F(SupervisorLabelsTest, LabelsFollowEachDiscover) {
  EXPECT_TRUE(supervisor.labels_pending());
  settle();
  EXPECT_FALSE(supervisor.labels_pending());
  EXPECT_THAT(supervisor.labels().values, ElementsAre(Pair("example.com/driver", "1")));
  const int before = changes;
  module->labels.values["example.com/driver"] = "2";
  rescan();
  EXPECT_THAT(supervisor.labels().values, ElementsAre(Pair("example.com/driver", "2")));
  EXPECT_GT(changes, before);
  EXPECT_EQ(last_change, SupervisorEvent::kLabels);
  EXPECT_EQ(module->count<CollectLabelsCall>(), 2);
}

TEST_F(SupervisorLabelsTest, AFailureLeavesTheLastLabels) {
  settle();
  module->fail<CollectLabelsCall>({Code::kInternal, "the driver does not answer"});
  rescan();
  EXPECT_FALSE(supervisor.labels_pending());
  EXPECT_THAT(supervisor.labels().values, ElementsAre(Pair("example.com/driver", "1")));
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
}

TEST_F(SupervisorLabelsTest, LabelsStayWhileTheModuleIsAway) {
  settle();
  module->events.lost(Error{Code::kUnavailable, "its worker exited"});
  settle();
  EXPECT_FALSE(supervisor.labels_pending()) << "other modules need not wait for it";
  EXPECT_THAT(supervisor.labels().values, ElementsAre(Pair("example.com/driver", "1")));
}

TEST_F(SupervisorLabelsTest, AModuleThatIsStillAskedKeepsOthersWaiting) {
  module->block<CollectLabelsCall>();
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
  EXPECT_TRUE(supervisor.labels_pending());
  module->unblock<CollectLabelsCall>();
  settle();
  EXPECT_FALSE(supervisor.labels_pending());
}

TEST_F(SupervisorLabelsTest, LabelsAreKnownOnceTheModuleHasToldThem) {
  module->fail<StartCall>({Code::kUnavailable, "the driver is not loaded"});
  settle();
  EXPECT_FALSE(supervisor.labels_pending());
  EXPECT_FALSE(supervisor.labels_known());
  clock.advance(10s);
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
  EXPECT_TRUE(supervisor.labels_known());
  module->events.lost(Error{Code::kUnavailable, "its worker exited"});
  settle();
  EXPECT_TRUE(supervisor.labels_known());
}

TEST_F(SupervisorLabelsTest, LabelsThatCannotBeCollectedAreNotKnown) {
  module->fail<CollectLabelsCall>({Code::kInternal, "the driver does not answer"});
  settle();
  EXPECT_FALSE(supervisor.labels_pending());
  EXPECT_FALSE(supervisor.labels_known());
}

TEST_F(SupervisorLabelsTest, AModuleWithoutTheFamilyHasNone) {
  module->about.families.remove(Family::kLabels);
  settle();
  EXPECT_TRUE(supervisor.labels_known());
  EXPECT_FALSE(supervisor.labels_pending());
  EXPECT_THAT(supervisor.labels().values, IsEmpty());
  EXPECT_EQ(module->count<CollectLabelsCall>(), 0);
}

}  // namespace
}  // namespace cardcage
