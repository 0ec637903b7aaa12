#include "modules/common/kernel_files.h"

#include <gmock/gmock.h>

#include <cerrno>

#include "tests/common/kernel_tree.h"

namespace cardcage::hardware {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class KernelFiles : public ::testing::Test {
 protected:
  std::optional<std::uint64_t> number(std::string_view text) const {
    tree.file("number", text);
    return number_in(tree.root() / "number");
  }
  KernelTree tree;
};

TEST_F(KernelFiles, AnAttributeIsReadWithoutItsNewline) {
  tree.file("one", "0x10de\n");
  tree.file("lines", "a 1\nb 2\n");
  tree.file("empty", "");
  EXPECT_EQ(text_in(tree.root() / "one"), "0x10de");
  EXPECT_EQ(text_in(tree.root() / "lines"), "a 1\nb 2");
  const Reading empty = read_attribute(tree.root() / "empty");
  EXPECT_EQ(empty.text, "");
  EXPECT_EQ(empty.error, 0);
}

TEST_F(KernelFiles, TheErrorOfOpenOrReadIsKept) {
  EXPECT_EQ(read_attribute(tree.root() / "missing").error, ENOENT);
  const Reading folder = read_attribute(tree.root());  // opens, but cannot be read
  EXPECT_EQ(folder.error, EISDIR);
  EXPECT_EQ(folder.text, "");
  tree.file("file", "text");
  EXPECT_EQ(read_attribute(tree.root() / "file/below").error, ENOTDIR);
  EXPECT_EQ(text_in(tree.root()), "");
}

TEST_F(KernelFiles, ALongFileIsCutAtOnePage) {
  tree.file("long", std::string(5000, 'a'));
  EXPECT_EQ(text_in(tree.root() / "long"), std::string(4096, 'a'));
}

TEST_F(KernelFiles, NumbersAreDecimalOrHexadecimal) {
  EXPECT_EQ(number("0\n"), 0u);
  EXPECT_EQ(number("010\n"), 10u);
  EXPECT_EQ(number("0x1fF\n"), 0x1ffu);
  EXPECT_EQ(number("18446744073709551615"), UINT64_MAX);
}

TEST_F(KernelFiles, WhatIsNotWhollyANumberIsNone) {
  for (const char* text : {"", "\n", "0x", "-1", "+1", " 1", "1 2", "12a", "0xg", "1.5", "18446744073709551616"})
    EXPECT_EQ(number(text), std::nullopt) << "'" << text << "'";
  EXPECT_EQ(number_in(tree.root() / "missing"), std::nullopt);
  EXPECT_EQ(number_in(tree.root()), std::nullopt);
}

TEST_F(KernelFiles, NamesAreSorted) {
  for (const char* name : {"b", "a", "c/d"}) tree.file(fs::path("folder") / name, "");
  EXPECT_THAT(names_in(tree.root() / "folder"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(names_in(tree.root() / "missing"), IsEmpty());
  EXPECT_THAT(names_in(tree.root() / "folder/a"), IsEmpty()) << "a file";
}

TEST_F(KernelFiles, ALinkHasTheLastNameOfItsTarget) {
  tree.link("driver", "../../bus/pci/drivers/vfio-pci");
  tree.file("file", "");
  EXPECT_EQ(target_name(tree.root() / "driver"), "vfio-pci");
  EXPECT_EQ(target_name(tree.root() / "file"), "");
  EXPECT_EQ(target_name(tree.root() / "missing"), "");
}

}  // namespace
}  // namespace cardcage::hardware
