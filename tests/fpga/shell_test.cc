// What the number says that identifies the shell of a card. The versions are those that OPAE gives for its recorded
// cards.
#include <gmock/gmock.h>

#include "modules/fpga/dfl/card.h"
#include "tests/fpga/node_files.h"

namespace cardcage::fpga {
namespace {

class FpgaShell : public NodeFiles {
 protected:
  std::string version_of(const std::string& id) const {
    write("fme/bitstream_id", id + "\n");
    DflEngine engine;
    engine.folder = folder / "fme";
    const auto shell = read_shell(engine);
    return shell ? shell->version : "none";
  }
};

TEST_F(FpgaShell, VersionsAreThoseOfOpae) {
  EXPECT_EQ(version_of("0x113000200000177"), "1.1.3");
  EXPECT_EQ(version_of("0x202000200000237"), "2.0.2");
  EXPECT_EQ(version_of("0x2300011001030f"), "0.2.3");
  EXPECT_EQ(version_of(""), "none");
}

}  // namespace
}  // namespace cardcage::fpga
