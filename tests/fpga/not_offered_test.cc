// Tests hardware that is not offered, with files that the kernel shows only if something is wrong.
#include <gmock/gmock.h>

#include "modules/fpga/inventory.h"
#include "modules/fpga/not_offered.h"
#include "tests/fpga/card_files.h"

namespace cardcage::fpga {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

class NotOfferedTest : public ::testing::Test {
 protected:
  std::map<std::string, std::string> reasons() const { return find_not_offered(tools, find_targets(tools)); }

  const CardFiles files;
  const DflFiles card{.files = files};
  const ListeningHost host{files.sysfs()};
  const Tools tools = host.tools();
};

TEST_F(NotOfferedTest, APortThatDoesNotTellItsNumberIsNamed) {
  card.add();
  EXPECT_THAT(reasons(), ElementsAre());
  files.make_unreadable(card.port(1) + "/id");
  EXPECT_THAT(reasons(), ElementsAre(Pair("0000:3b:00.0/dfl-port.3",
                                          "its attribute 'id' cannot be read, so it may be any port of the card")));
}

TEST_F(NotOfferedTest, ACardWithoutPortsIsNamed) {
  card.add();
  for (const int number : {0, 1}) files.remove(card.port(number));
  EXPECT_THAT(reasons(), ElementsAre(Pair("0000:3b:00.0", "the kernel shows no port of it")));
}

}  // namespace
}  // namespace cardcage::fpga
