#include "host/model/interface_address.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

using ::testing::Optional;

TEST(InterfaceAddressTest, IsWrittenAsKubernetesWantsIt) {
  EXPECT_THAT(canonical_interface_address("10.1.2.3/24"), Optional(std::string("10.1.2.3/24")));
  EXPECT_THAT(canonical_interface_address("2001:DB8:0:0::1/064"), Optional(std::string("2001:db8::1/64")));
  EXPECT_THAT(canonical_interface_address("::/0"), Optional(std::string("::/0")));
}

TEST(InterfaceAddressTest, AnythingElseIsNone) {
  for (const char* text : {"", "10.1.2.3", "10.1.2.3/", "10.1.2.3/33", "10.1.2.03/24", "10.1.2/24", "::1/129", "x/1",
                           "::ffff:10.1.2.3/96", "10.1.2.3/-1", "10.1.2.3/2x", "10.1.2.3/24/8"})
    EXPECT_FALSE(canonical_interface_address(text)) << text;
}

}  // namespace
}  // namespace cardcage
