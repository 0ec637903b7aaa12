// The catalogue of a module, whose entries claims name.
#include "tests/fakes/built_files.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class CatalogueScenarios : public ScenarioFixture {
 protected:
  Result<Catalogue> catalogue() { return run(module->call(CollectCatalogueCall{}, soon())); }
};

INSTANTIATE_TEST_SUITE_P(Isolation, CatalogueScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(CatalogueScenarios, EntriesArriveWithTheirAttributes) {
  ASSERT_TRUE(start_scripted({}));
  EXPECT_TRUE(module->identity().has(Family::kCatalogue));
  for (int i = 0; i < 2; ++i) {
    const auto collected = catalogue();
    ASSERT_TRUE(collected) << collected.error().message;
    const std::vector<std::string> parts{"xcu250", "xcu280"};
    EXPECT_THAT(collected->entries,
                ElementsAre(CatalogueEntry{"bitstream", "aes core", false, "AES?at 300 MHz", {{"parts", parts}}},
                            CatalogueEntry{"bitstream", "old", true, "for tests", {}}));
    EXPECT_EQ(collected->left_out, LeftOut());
  }
}

TEST_P(CatalogueScenarios, AFloodIsBoundedAndArrives) {
  ASSERT_TRUE(start_scripted({"catalogue=flood"}));
  const auto collected = catalogue();
  ASSERT_TRUE(collected) << collected.error().message;
  ASSERT_THAT(collected->entries, SizeIs(kMaxCatalogueEntries));
  EXPECT_EQ(collected->entries.back().name, fmt::format("n{}", kMaxCatalogueEntries - 3));
  EXPECT_EQ(collected->left_out.count, 6002 - kMaxCatalogueEntries);
  EXPECT_THAT(collected->left_out.first, HasSubstr("a catalogue has at most 4096 entries"));
  EXPECT_TRUE(run(module->call(CheckCall{{"dev-0"}}, soon())));
}

TEST_P(CatalogueScenarios, AFailureIsTheModulesOwn) {
  ASSERT_TRUE(start_scripted({"catalogue=explain"}));
  const auto collected = catalogue();
  ASSERT_FALSE(collected);
  EXPECT_THAT(collected.error().message,
              HasSubstr("module 'm' cannot collect its catalogue: the card in slot 3 is too hot"));
}

TEST_P(CatalogueScenarios, ACollectionThatHangsFailsAtItsDeadlineAndLosesTheInstance) {
  ASSERT_TRUE(start_scripted({"catalogue=hang"}));
  const auto collected = begin(module->call(CollectCatalogueCall{}, clock.now() + seconds(2)));
  ASSERT_TRUE(is_hanging());
  advance(seconds(2));
  ASSERT_TRUE(*collected);
  EXPECT_EQ((*collected)->error(),
            (Error{Code::kDeadlineExceeded, "module 'm' cannot collect its catalogue: it did not answer in time"}));
  advance(seconds(5));
  ASSERT_TRUE(lost);
  EXPECT_THAT(lost->message, HasSubstr("stuck in collect its catalogue"));
}

TEST_P(CatalogueScenarios, AModuleWithoutTheFamilyIsNotCalled) {
  ASSERT_TRUE(start("good.so"));
  EXPECT_FALSE(module->identity().has(Family::kCatalogue));
  EXPECT_EQ(catalogue().error(),
            (Error{Code::kUnimplemented, "module 'm' cannot collect its catalogue: it has no cage.catalogue/1"}));
}

TEST_P(CatalogueScenarios, TheMockListsWhatItsOptionsName) {
  modules_dir = built_modules();
  const std::vector<std::string> lines{"bitstream aes usable AES at 300 MHz", "bitstream old refused part is missing",
                                       "Bit wrong usable x"};
  ASSERT_TRUE(start("libcardcage_mock_concurrent.so", {{"catalogue", lines}}));
  const auto collected = catalogue();
  ASSERT_TRUE(collected) << collected.error().message;
  EXPECT_THAT(collected->entries,
              ElementsAre(CatalogueEntry{"bitstream", "aes", false, "AES at 300 MHz", {{"line", std::int64_t{1}}}},
                          CatalogueEntry{"bitstream", "old", true, "part is missing", {{"line", std::int64_t{2}}}}));
  EXPECT_EQ(collected->left_out.count, 1u);
}

class WorkerCatalogueTest : public ModuleFixture {
 protected:
  WorkerCatalogueTest() : ModuleFixture(Isolation::kProcess) {}
};

TEST_F(WorkerCatalogueTest, AWorkerThatDiesInACollectionIsLost) {
  ASSERT_TRUE(start_scripted({"catalogue=crash"}));
  const auto collected = run(module->call(CollectCatalogueCall{}, soon()));
  ASSERT_FALSE(collected);
  EXPECT_THAT(collected.error().message, HasSubstr("killed by signal 11"));
  EXPECT_TRUE(lost);
}

}  // namespace
}  // namespace cardcage
