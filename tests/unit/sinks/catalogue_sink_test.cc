#include "host/sinks/catalogue_sink.h"

#include <gmock/gmock.h>

#include <thread>

#include "tests/unit/sinks/abi_text.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

cage_catalogue_entry entry(std::string_view name, std::uint32_t flags = 0) {
  cage_catalogue_entry made{};
  made.struct_size = sizeof made;
  made.flags = flags;
  made.kind = text("bitstream");
  made.name = text(name);
  made.detail = text("AES");
  return made;
}

class CatalogueSinkTest : public ::testing::Test {
 protected:
  cage_status add(const cage_catalogue_entry& given) { return table->entry(table, &given); }
  // The reason why the entry is left out.
  std::string refusal(const cage_catalogue_entry& given) {
    table = sink.open();
    if (add(given) == CAGE_OK) return "was taken";
    const Catalogue collected = sink.finish();
    EXPECT_THAT(collected.entries, IsEmpty());
    EXPECT_EQ(collected.left_out.count, 1u);
    return collected.left_out.first;
  }

  CatalogueSink sink{"m"};
  cage_catalogue_sink* table = sink.open();
};

TEST_F(CatalogueSinkTest, KeepsEntriesInTheirOrder) {
  cage_attr part{};
  part.name = text("part");
  part.type = CAGE_ATTR_STRING;
  part.count = 1;
  part.v.s = text("xcu250");
  cage_catalogue_entry described = entry("Größe XL");
  described.attrs = &part;
  described.attr_count = 1;
  EXPECT_EQ(add(described), CAGE_OK);
  EXPECT_EQ(add(entry("aes", CAGE_CATALOGUE_REFUSED)), CAGE_OK);
  const Catalogue collected = sink.finish();
  EXPECT_THAT(
      collected.entries,
      ElementsAre(
          CatalogueEntry{"bitstream", "Größe XL", false, "AES", {{"part", AttributeValue(std::string("xcu250"))}}},
          CatalogueEntry{"bitstream", "aes", true, "AES", {}}));
  EXPECT_EQ(collected.left_out, LeftOut());
}

TEST_F(CatalogueSinkTest, LeavesOutEntriesThatBreakARule) {
  cage_catalogue_entry wrong = entry("aes", 2);
  EXPECT_EQ(refusal(wrong), "catalogue entry 'aes': flags 0x2 are unknown [R16]");
  wrong = entry("aes");
  wrong.kind = text("Bit Stream");
  EXPECT_EQ(refusal(wrong),
            "catalogue entry 'aes': kind 'Bit Stream' is not a word of lower-case letters, digits and '-'");
  EXPECT_EQ(refusal(entry("")), "catalogue entry '': name '' is not one line of UTF-8 of 1 to 253 bytes");
  EXPECT_THAT(refusal(entry("two\nlines")), HasSubstr("name 'two?lines' is not one line"));
  EXPECT_THAT(refusal(entry("\xff")), HasSubstr("is not one line"));
  EXPECT_THAT(refusal(entry(std::string(254, 'x'))), HasSubstr("is not one line"));
  EXPECT_EQ(refusal(entry(std::string(253, 'x'))), "was taken");
  wrong = entry("aes");
  wrong.detail.data = nullptr;
  EXPECT_THAT(refusal(wrong), HasSubstr("detail has 3 bytes and no data"));
  wrong = entry("aes");
  wrong.struct_size = 8;
  EXPECT_THAT(refusal(wrong), HasSubstr("set it to sizeof(cage_catalogue_entry) [R2]"));
  wrong = entry("aes");
  wrong.attr_count = 1;
  EXPECT_THAT(refusal(wrong), HasSubstr("attrs has 1 entries and no data"));
  cage_attr attribute{};
  attribute.name = text("not a name");
  attribute.type = CAGE_ATTR_INT;
  attribute.count = 1;
  wrong.attrs = &attribute;
  EXPECT_THAT(refusal(wrong), HasSubstr("attribute name 'not a name' is not a C identifier"));
  EXPECT_EQ(table->entry(table, nullptr), CAGE_FAILED_PRECONDITION) << "the sink is closed";
  table = sink.open();
  EXPECT_EQ(table->entry(table, nullptr), CAGE_INVALID_ARGUMENT);
}

TEST_F(CatalogueSinkTest, RepairsAndCutsDetails) {
  const std::string longest(2000, 'x');
  cage_catalogue_entry given = entry("aes");
  given.detail = text(longest);
  EXPECT_EQ(add(given), CAGE_OK);
  given = entry("des");
  given.detail = text("two\nlines\xff");
  EXPECT_EQ(add(given), CAGE_OK);
  const Catalogue collected = sink.finish();
  EXPECT_EQ(collected.entries.at(0).detail, std::string(kMaxEntryDetail, 'x'));
  EXPECT_EQ(collected.entries.at(1).detail, "two?lines?");
}

TEST_F(CatalogueSinkTest, ANameThatClaimsCanUseIsThereOnce) {
  EXPECT_EQ(add(entry("aes", CAGE_CATALOGUE_REFUSED)), CAGE_OK);
  EXPECT_EQ(add(entry("aes")), CAGE_OK);
  EXPECT_EQ(add(entry("aes", CAGE_CATALOGUE_REFUSED)), CAGE_OK);
  cage_catalogue_entry other = entry("aes");
  other.kind = text("firmware");
  EXPECT_EQ(add(other), CAGE_OK);
  EXPECT_EQ(add(entry("aes")), CAGE_ALREADY_EXISTS);
  const Catalogue collected = sink.finish();
  EXPECT_THAT(collected.entries, SizeIs(4));
  EXPECT_THAT(collected.left_out.first, HasSubstr("another bitstream that claims can name has this name"));
  table = sink.open();
  EXPECT_EQ(add(entry("aes")), CAGE_OK) << "each catalogue is complete";
}

TEST_F(CatalogueSinkTest, AFloodOfEntriesIsBounded) {
  for (std::size_t i = 0; i < kMaxCatalogueEntries; ++i) ASSERT_EQ(add(entry(fmt::format("n{}", i))), CAGE_OK);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(add(entry(fmt::format("late{}", i))), CAGE_RESOURCE_EXHAUSTED);
  const Catalogue collected = sink.finish();
  EXPECT_THAT(collected.entries, SizeIs(kMaxCatalogueEntries));
  EXPECT_EQ(collected.left_out,
            (LeftOut{10, "catalogue entry 'late0': a catalogue has at most 4096 entries and 8 MiB of text"}));
}

TEST_F(CatalogueSinkTest, AFloodOfTextIsBounded) {
  const std::string detail(kMaxEntryDetail, 'x'), name(240, 'n'), value(64, 'v');
  const std::vector<cage_str> values(40, text(value));
  cage_attr attribute{};
  attribute.name = text("list");
  attribute.type = CAGE_ATTR_LIST | CAGE_ATTR_STRING;
  attribute.count = 40;
  attribute.v.strs = values.data();
  std::size_t taken = 0;
  for (;; ++taken) {
    ASSERT_LT(taken, kMaxCatalogueEntries);
    const std::string unique = fmt::format("{}{}", name, taken);
    cage_catalogue_entry given = entry(unique);
    given.detail = text(detail);
    given.attrs = &attribute;
    given.attr_count = 1;
    if (add(given) != CAGE_OK) break;
  }
  EXPECT_GT(taken, 1000u);
  EXPECT_THAT(sink.finish().entries, SizeIs(taken));
}

TEST_F(CatalogueSinkTest, RefusesUseAfterTheCallAndFromAnotherThread) {
  std::thread([&] { EXPECT_EQ(add(entry("aes")), CAGE_FAILED_PRECONDITION); }).join();
  EXPECT_THAT(sink.finish().entries, IsEmpty());
  EXPECT_EQ(add(entry("aes")), CAGE_FAILED_PRECONDITION);
}

}  // namespace
}  // namespace cardcage
