#include "modules/common/pci_ids.h"

#include <gmock/gmock.h>

#include "tests/common/kernel_tree.h"

namespace cardcage::hardware {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(PciIdsFile, ProductsOfOneVendor) {
  KernelTree tree;
  tree.file("usr/share/misc/pci.ids",
            "# a list\n\t0000  before any vendor\n10dd  Another\n\t2330  Wrong\n8086  Intel Corporation\n"
            "\tbcce  Acceleration Development Platform\n\t\t8086 1770  a subsystem\n\t12\n\n\tbcc0  OFS\n"
            "8087  Yet another\n\tbccf  Wrong\nC 12  Processing accelerators\n\t00  Wrong\n");
  EXPECT_THAT(products_of(tree.root(), "0x8086"),
              ElementsAre(Pair("0xbcc0", "OFS"), Pair("0xbcce", "Acceleration Development Platform")));
  EXPECT_THAT(products_of(tree.root(), "0xffff"), IsEmpty());
  EXPECT_THAT(products_of(tree.root(), ""), IsEmpty()) << "a function without a vendor";
}

TEST(PciIdsFile, TheListOfHwdataCountsFirst) {
  KernelTree tree;
  tree.file("usr/share/hwdata/pci.ids", "10ee  Xilinx\n\t5001  Alveo U200\n");
  tree.file("usr/share/misc/pci.ids", "10ee  Xilinx\n\t5001  old name\n\t5005  Alveo U250\n");
  EXPECT_THAT(products_of(tree.root(), "0x10ee"),
              ElementsAre(Pair("0x5001", "Alveo U200"), Pair("0x5005", "Alveo U250")));
}

TEST(PciIdsFile, WithoutAListThereAreNoNames) {
  KernelTree tree;
  EXPECT_THAT(products_of(tree.root(), "0x8086"), IsEmpty());
}

}  // namespace
}  // namespace cardcage::hardware
