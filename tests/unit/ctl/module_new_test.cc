// cagectl module new: its output files. tests/abi/vendor.py builds and runs the result.
#include <gmock/gmock.h>

#include <boost/json/parse.hpp>

#include "host/core/file.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/source_folder.h"
#include "tests/unit/ctl/cagectl_process.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

const fs::path kTemplates = source_folder() / "abi/templates";

Ended run_new(const std::string& name, const std::string& language, const fs::path& folder,
              const fs::path& templates = kTemplates) {
  return run_cagectl({"--json", "module", "new", name, "--language", language, "--folder", folder.string(),
                      "--templates", templates.string()});
}

std::string text_of(const fs::path& file) { return read_file(file, 1'000'000).value_or("(missing)"); }

TEST(ModuleNewTest, FillsTheNameIntoEveryFile) {
  const ScratchFolder scratch;
  for (const std::string language : {"c", "cpp", "rust"}) {
    const fs::path folder = scratch / language;
    const Ended ended = run_new("my-card", language, folder);
    ASSERT_EQ(ended.code, 0) << ended.err;
    const auto report = boost::json::parse(ended.out);
    EXPECT_EQ(report.at("module"), "my-card");
    EXPECT_EQ(report.at("folder").as_string(), folder.string());
    EXPECT_GE(report.at("files").as_array().size(), 5U);
    for (const auto& file : report.at("files").as_array()) {
      const std::string text = text_of(folder / std::string(file.as_string()));
      EXPECT_THAT(text, testing::AnyOf(HasSubstr("my-card"), HasSubstr("my_card"))) << file;
      for (const char* word : {"@NAME@", "@IDENT@"}) EXPECT_THAT(text, Not(HasSubstr(word))) << file;
    }
    EXPECT_THAT(text_of(folder / "desk.toml"), HasSubstr("name = \"my-card\"\npath = \"libcardcage_my_card.so\""));
  }
}

TEST(ModuleNewTest, AModuleInRustContainsTheCrate) {
  const ScratchFolder scratch;
  ASSERT_EQ(run_new("card", "rust", scratch / "card").code, 0);
  EXPECT_THAT(text_of(scratch / "card/Cargo.toml"), HasSubstr("cardcage = { path = \"cardcage\" }"));
  for (const char* file : {"Cargo.toml", "src/lib.rs", "src/raw/abi.rs"})
    EXPECT_EQ(text_of(scratch / "card/cardcage" / file), text_of(source_folder() / "abi/rust" / file)) << file;
  EXPECT_FALSE(fs::exists(scratch / "card/cardcage/target"));
}

TEST(ModuleNewTest, AMissingCrateIsNamedAndLeavesNoFolder) {
  const ScratchFolder scratch;
  fs::copy(kTemplates, scratch / "templates", fs::copy_options::recursive);
  const Ended ended = run_new("card", "rust", scratch / "card", scratch / "templates");
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("cannot copy the crate in '" + (scratch / "rust").string() + "' (No such file"));
  EXPECT_FALSE(fs::exists(scratch / "card"));
}

TEST(ModuleNewTest, SaysWhatItWroteAndWhatToReadNext) {
  const ScratchFolder scratch;
  const std::string folder = scratch / "card";
  const Ended ended =
      run_cagectl({"module", "new", "card", "--language", "c", "--folder", folder, "--templates", kTemplates.string()});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "module 'card' is in '" + folder +
                           "': CLUSTER.md, CMakeLists.txt, Containerfile, README.md, check.sh, ci.yaml, "
                           "claim.json, desk.toml, module.c, node.toml, package.sh, pod.yaml, values.yaml\n"
                           "README.md says how to build and try it\n");
}

TEST(ModuleNewTest, LeavesAnExistingFolderAlone) {
  const ScratchFolder scratch;
  ASSERT_TRUE(make_folder(scratch / "mine", 0755));
  const Ended ended = run_new("mine", "c", scratch / "mine");
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.err,
            "cagectl: '" + (scratch / "mine").string() + "' exists: remove it, or name another folder with --folder\n");
  EXPECT_TRUE(fs::is_empty(scratch / "mine"));
}

TEST(ModuleNewTest, RefusesNamesThatNoModuleCanHave) {
  const ScratchFolder scratch;
  const std::vector<std::string> names = {"Card", "my_card", "7card", "card-", "a/b", std::string(33, 'a')};
  for (const std::string& name : names) {
    const Ended ended = run_new(name, "c", scratch / "new");
    EXPECT_EQ(ended.code, 1) << name;
    EXPECT_THAT(ended.err, HasSubstr("'" + name + "' cannot name a module: write at most 32 lower-case letters"));
    EXPECT_FALSE(fs::exists(scratch / "new"));
  }
}

TEST(ModuleNewTest, SaysWhereItLooksForTheTemplates) {
  const ScratchFolder scratch;
  const Ended ended = run_new("card", "c", scratch / "new", "/nowhere");
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("no templates in '/nowhere/common'"));
  EXPECT_THAT(ended.err, HasSubstr("--templates"));
  EXPECT_FALSE(fs::exists(scratch / "new"));
}

TEST(ModuleNewTest, KnowsThreeLanguages) {
  const ScratchFolder scratch;
  const Ended ended = run_new("card", "perl", scratch / "new");
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("perl not in {c,cpp,rust}"));
}

}  // namespace
}  // namespace cardcage
