#include "host/ledger/device_index.h"

#include <gmock/gmock.h>

#include "tests/unit/ledger/records.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::shared_ptr<const ClaimRecord> a_holder(const std::string& uid, const std::string& module,
                                            std::vector<std::pair<std::string, std::string>> ids_and_names) {
  ClaimRecord record{.driver = kDriver, .ref = {"team", uid, uid}};
  ModulePart part{.module = module};
  for (const auto& [id, name] : ids_and_names)
    part.devices.push_back({.allocation = {.driver = kDriver, .device = name}, .device_id = id});
  record.parts.push_back(std::move(part));
  return std::make_shared<const ClaimRecord>(std::move(record));
}

TEST(DeviceIndexTest, FindsARecordByEachNameOfItsDevices) {
  DeviceIndex index;
  const auto record = a_holder("u1", "gpus", {{"GPU-0", "gpu-0"}, {"GPU-1", "gpu-1"}});
  index.add(record);
  EXPECT_THAT(index.find("gpus", "GPU-1", "", ""), ElementsAre(record));
  EXPECT_THAT(index.find("gpus", "", "", "gpu-0"), ElementsAre(record)) << "by its name in the module";
  EXPECT_THAT(index.find("", "", kDriver, "gpu-0"), ElementsAre(record)) << "by its name at the driver";
  EXPECT_THAT(index.find("gpus", "GPU-0", kDriver, "gpu-0"), ElementsAre(record)) << "and once";
  EXPECT_THAT(index.find("others", "GPU-0", "other.example.com", "gpu-0"), IsEmpty());
  EXPECT_THAT(index.find("gpus", "gpu-0", "", ""), IsEmpty()) << "an id is not a name";
}

TEST(DeviceIndexTest, RecordsOfOneDeviceAreInTheOrderOfTheirKeys) {
  DeviceIndex index;
  const auto second = a_holder("u2", "gpus", {{"GPU-0", "gpu-0"}}),
             first = a_holder("u1", "gpus", {{"GPU-9", "gpu-0"}});
  index.add(second);
  index.add(first);
  EXPECT_THAT(index.find("gpus", "GPU-0", kDriver, "gpu-0"), ElementsAre(first, second));
  index.remove(first);
  EXPECT_THAT(index.find("gpus", "GPU-0", kDriver, "gpu-0"), ElementsAre(second));
  index.remove(second);
  EXPECT_THAT(index.find("gpus", "GPU-0", kDriver, "gpu-0"), IsEmpty());
}

}  // namespace
}  // namespace cardcage
