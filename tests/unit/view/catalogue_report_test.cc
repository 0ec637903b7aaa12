#include "host/view/catalogue_report.h"

#include <gmock/gmock.h>

#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_module.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::SizeIs;
using Reports = std::vector<CatalogueReport>;

class CatalogueReportTest : public CoreFixture {
 protected:
  std::shared_ptr<FakeModule> make_module(const std::string& entry) {
    auto made = std::make_shared<FakeModule>(core);
    made->about.families.add(Family::kCatalogue);
    made->catalogue.entries = {{.kind = "bitstream", .name = entry}};
    return made;
  }
  std::shared_ptr<std::optional<Reports>> begin(std::vector<CatalogueSource> sources) {
    auto result = std::make_shared<std::optional<Reports>>();
    spawn(core, keep(collect_catalogues(core, clock, std::move(sources)), result));
    settle();
    return result;
  }

  FakeClock clock;
  std::shared_ptr<FakeModule> fpga = make_module("aes"), other = make_module("dpi");

 private:
  static Task<void> keep(Task<Reports> task, std::shared_ptr<std::optional<Reports>> result) {
    result->emplace(co_await std::move(task));
  }
};

TEST_F(CatalogueReportTest, ModulesAreAskedAtOnceAndReportedInOrder) {
  fpga->block<CollectCatalogueCall>();
  const auto reports = begin({{"fpga", fpga}, {"other", other}});
  EXPECT_EQ(other->count<CollectCatalogueCall>(), 1);
  EXPECT_FALSE(*reports);
  fpga->unblock<CollectCatalogueCall>();
  settle();
  ASSERT_TRUE(*reports);
  ASSERT_THAT(**reports, SizeIs(2));
  EXPECT_EQ((**reports)[0].module, "fpga");
  EXPECT_EQ((**reports)[0].catalogue, fpga->catalogue);
  EXPECT_EQ((**reports)[0].problem, "");
  EXPECT_EQ((**reports)[1].catalogue, other->catalogue);
}

TEST_F(CatalogueReportTest, AFailureIsThatOfOneModule) {
  fpga->fail<CollectCatalogueCall>({Code::kInternal, "the folder is gone"});
  const auto reports =
      begin({{"fpga", fpga}, {"away", std::unexpected(Error{Code::kUnavailable, "it is quiesced"})}, {"other", other}});
  ASSERT_TRUE(*reports);
  ASSERT_THAT(**reports, SizeIs(3));
  EXPECT_EQ((**reports)[0].problem, "the folder is gone");
  EXPECT_EQ((**reports)[1].problem, "it is quiesced");
  EXPECT_EQ((**reports)[2].problem, "");
  EXPECT_EQ((**reports)[2].catalogue, other->catalogue);
}

TEST_F(CatalogueReportTest, NoModuleIsNoReport) {
  const auto reports = begin({});
  ASSERT_TRUE(*reports);
  EXPECT_THAT(**reports, SizeIs(0));
}

}  // namespace
}  // namespace cardcage
