#include "host/labels/feature_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "host/core/file.h"
#include "sim/scratch_folder.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

ModuleLabels labels(std::string module, std::map<std::string, std::string> values) {
  return {std::move(module), {std::move(values), {}}};
}
const std::string kHead = "# Written by cardcage from what its modules report.\n";

TEST(FeatureTextTest, HasTheLabelsOfAllModulesInOrderAndSaysWhoseTheyAre) {
  const FeatureText made = feature_text({labels("nic", {{"example.com/nic", "x"}}),
                                         labels("gpu", {{"example.com/zone", ""}, {"example.com/gpu", "80GB"}})});
  EXPECT_EQ(made.text,
            kHead + "# module gpu\nexample.com/gpu=80GB\nexample.com/zone=\n# module nic\nexample.com/nic=x\n");
  EXPECT_EQ(made.labels, 3U);
  EXPECT_TRUE(made.left_out.empty());
  EXPECT_EQ(feature_text({labels("gpu", {})}).text, "");
}

TEST(FeatureTextTest, OfTwoValuesTheFirstModuleByNameWins) {
  const FeatureText made = feature_text(
      {labels("nic", {{"a.com/x", "1"}, {"a.com/y", "1"}}), labels("gpu", {{"a.com/x", "2"}, {"a.com/y", "1"}})});
  EXPECT_EQ(made.text, kHead + "# module gpu\na.com/x=2\na.com/y=1\n");
  EXPECT_THAT(made.left_out, ElementsAre("label 'a.com/x' of module 'nic': module 'gpu' has it with another value"));
}

// NFD's MaxFeatureFileSize is 65536 (source/local/local.go): it ignores a larger file.
TEST(FeatureTextTest, IsNoLongerThanNfdReads) {
  std::map<std::string, std::string> many;
  for (int i = 0; i < 1000; ++i) many[fmt::format("{}.com/n{:03}", std::string(60, 'a'), i)] = std::string(63, 'v');
  const FeatureText made = feature_text({labels("gpu", many)});
  EXPECT_LE(made.text.size(), 65536U);
  EXPECT_GT(made.text.size(), 65000U);
  EXPECT_EQ(made.labels + made.left_out.size(), 1000U);
  EXPECT_THAT(made.left_out.front(), HasSubstr("the file would exceed 64 KiB"));
}

class FeatureFileTest : public ::testing::Test {
 protected:
  FeatureFileTest() { fs::create_directory(features); }
  std::string content() const { return read_file(features / "cardcage", 1 << 20).value_or("(none)"); }

  ScratchFolder folder;
  const fs::path features = folder / "features.d";
  FeatureFile file{features, ""};
  const std::vector<ModuleLabels> wanted = {labels("gpu", {{"example.com/gpu", "yes"}})};
};

TEST_F(FeatureFileTest, IsWrittenReadableAndAloneInTheFolder) {
  EXPECT_FALSE(file.condition());
  file.update(wanted);
  EXPECT_EQ(content(), kHead + "# module gpu\nexample.com/gpu=yes\n");
  EXPECT_EQ(file.condition(), (Condition{Level::kGood, "written", ""}));
  struct stat about{};
  ASSERT_EQ(::stat((features / "cardcage").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0644U);
  EXPECT_EQ(std::distance(fs::directory_iterator(features), {}), 1);
}

TEST_F(FeatureFileTest, IsNotTouchedWhileNothingChanges) {
  file.update(wanted);
  const FileStamp before = stamp_of(features / "cardcage");
  file.update(wanted);
  FeatureFile of_the_next_daemon(features, "");
  of_the_next_daemon.update(wanted);
  EXPECT_EQ(stamp_of(features / "cardcage"), before);
}

TEST_F(FeatureFileTest, IsWrittenAgainIfSomebodyRemovesOrChangesIt) {
  file.update(wanted);
  fs::remove(features / "cardcage");
  file.update(wanted);
  EXPECT_THAT(content(), HasSubstr("gpu=yes"));
  std::ofstream(features / "cardcage") << "x";
  file.update(wanted);
  EXPECT_THAT(content(), HasSubstr("gpu=yes"));
}

TEST(FeatureTextTest, IsReadBack) {
  const std::vector<ModuleLabels> modules = {labels("gpu", {{"example.com/gpu", "80GB"}, {"example.com/zone", ""}}),
                                             labels("nic", {{"example.com/nic", "a=b"}})};
  const auto found = labels_in(feature_text(modules).text);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found.at("gpu").values, modules[0].labels.values);
  EXPECT_EQ(found.at("nic").values, modules[1].labels.values);
  EXPECT_TRUE(labels_in("example.com/of=an older daemon\n").empty());
  EXPECT_TRUE(labels_in("# module gpu\nno label\n# a=comment").at("gpu").values.empty());
}

TEST_F(FeatureFileTest, LabelsOfAModuleThatHasNotReportedStayUntilItDoes) {
  file.update({labels("gpu", {{"example.com/gpu", "yes"}}), labels("nic", {{"example.com/nic", "yes"}})});
  const std::string before = content();
  FeatureFile next(features, "");
  ModuleLabels unknown = labels("gpu", {});
  unknown.known = false;
  next.update({unknown, labels("nic", {{"example.com/nic", "yes"}})});
  EXPECT_EQ(content(), before);
  next.update({unknown, labels("nic", {{"example.com/nic", "no"}})});
  EXPECT_EQ(content(), kHead + "# module gpu\nexample.com/gpu=yes\n# module nic\nexample.com/nic=no\n");
  next.update({labels("gpu", {}), labels("nic", {})});
  EXPECT_FALSE(fs::exists(features / "cardcage"));
  next.update({unknown});
  EXPECT_FALSE(fs::exists(features / "cardcage")) << "its own labels count once it has reported them";
}

TEST_F(FeatureFileTest, LabelsOfAModuleThatWasRemovedGo) {
  file.update(wanted);
  FeatureFile next(features, "");
  next.update({});
  EXPECT_FALSE(fs::exists(features / "cardcage"));
  ModuleLabels again = labels("gpu", {});
  again.known = false;
  next.update({again});
  EXPECT_FALSE(fs::exists(features / "cardcage"));
}

TEST_F(FeatureFileTest, GoesWithTheLastLabel) {
  file.update(wanted);
  file.update({labels("gpu", {})});
  EXPECT_FALSE(fs::exists(features / "cardcage"));
  EXPECT_FALSE(file.condition());
}

TEST_F(FeatureFileTest, AMissingFolderIsNoFaultAndIsTriedAgain) {
  fs::remove(features);
  file.update(wanted);
  ASSERT_TRUE(file.condition());
  EXPECT_EQ(file.condition()->reason, "absent");
  EXPECT_EQ(file.condition()->level, Level::kInProgress);
  EXPECT_THAT(file.condition()->text, HasSubstr("features.d': install Node Feature Discovery"));
  fs::create_directory(features);
  file.update(wanted);
  EXPECT_EQ(file.condition()->reason, "written");
}

TEST_F(FeatureFileTest, AFileThatCannotBeWrittenIsShownAndTriedAgain) {
  fs::create_directory(features / "cardcage");  // even root cannot rename a file over a folder
  std::ofstream(features / "cardcage" / "x");
  file.update(wanted);
  ASSERT_TRUE(file.condition());
  EXPECT_EQ(file.condition()->level, Level::kBad);
  EXPECT_EQ(file.condition()->reason, "failing");
  EXPECT_THAT(file.condition()->text, HasSubstr("it is tried again"));
  fs::remove_all(features / "cardcage");
  file.update(wanted);
  EXPECT_EQ(file.condition()->reason, "written");
}

TEST_F(FeatureFileTest, TwoDaemonsOfANodeHaveFilesOfTheirOwn) {
  FeatureFile other(features, "blue");
  other.update(wanted);
  file.update({});
  EXPECT_TRUE(fs::exists(features / "cardcage-blue"));
}

TEST_F(FeatureFileTest, WithoutAFolderNothingIsWritten) {
  FeatureFile off("", "");
  off.update(wanted);
  EXPECT_FALSE(off.condition());
}

}  // namespace
}  // namespace cardcage
