// Tests changes of virtual functions in the journal of a claim.
#include "modules/nic/vf_change.h"

#include <gmock/gmock.h>

namespace cardcage::nic {
namespace {

using ::testing::ElementsAre;

VfChange change_of(std::vector<VfAttribute> attributes) {
  return {.device = "0000:01:10.0",
          .card = "0000:01:00.0",
          .number = 3,
          .attributes = std::move(attributes),
          .before = {.mac = "02:00:00:00:00:01",
                     .vlan = 7,
                     .qos = 2,
                     .trust = true,
                     .link_state = 1,
                     .min_rate = 10,
                     .max_rate = 100,
                     .node_guid = 0x11,
                     .port_guid = 0xfe00'0000'0000'0012},
          .wanted = {}};
}

TEST(NicVfChange, ALineOfTheJournalHasWhatWasThereBefore) {
  const VfChange change = change_of({VfAttribute::kVlan, VfAttribute::kNodeGuid});
  const auto read = change_from(to_line(change));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->device, change.device);
  EXPECT_EQ(read->card, change.card);
  EXPECT_EQ(read->number, 3U);
  EXPECT_EQ(read->before, change.before);
  EXPECT_THAT(read->attributes, ElementsAre(VfAttribute::kVlan, VfAttribute::kNodeGuid));
  EXPECT_TRUE(read->needs_rebind());
}

// Journals from before the support of GUIDs have such lines.
TEST(NicVfChange, ALineWithoutGuidsIsRead) {
  const std::string line = "vf 0000:01:10.0 0000:01:00.0 3 02:00:00:00:00:01 7 2 0 1 1 10 100 1 3";
  const auto read = change_from(line);
  ASSERT_TRUE(read);
  EXPECT_THAT(read->attributes, ElementsAre(VfAttribute::kVlan, VfAttribute::kTrust));
  EXPECT_EQ(read->before.max_rate, 100U);
  EXPECT_FALSE(read->needs_rebind());
  EXPECT_EQ(to_line(change_of({VfAttribute::kVlan, VfAttribute::kTrust})), line);
  EXPECT_FALSE(change_from("0000:01:10.0 0000:01:10.0")) << "a function that was bound";
}

}  // namespace
}  // namespace cardcage::nic
