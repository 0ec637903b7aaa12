// Files that describe a claim's devices to its containers (KEP-5304).
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <boost/json.hpp>

#include "tests/unit/claim/claim_world.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class DeviceMetadataTest : public ClaimWorld {
 protected:
  DeviceMetadataTest() {
    directory.device("gpu-0").attributes = {{"model", std::string("X1")}, {"cores", std::int64_t{64}}};
    gpus->edits = [this](const ModuleClaim& claim) {
      PreparedEdits edits;
      edits.allocations.resize(claim.allocations.size());
      edits.statements.assign(claim.allocations.size(), statement);
      return edits;
    };
  }
  Devices prepare_from(const std::string& uid, std::vector<Allocation> allocations, std::string pod_claim_name = "") {
    Claim claim = a_claim(uid, std::move(allocations));
    claim.pod_claim_name = std::move(pod_claim_name);
    cluster.put_claim(std::move(claim));
    return prepare(uid);
  }
  std::vector<Mount> mounts(const std::string& uid, std::size_t device = 0) const {
    return cdi.read({{Api::kDra, kDriver}, uid})->devices.at(device).edits.mounts;
  }
  std::string file_of(const std::string& uid) const { return mounts(uid).at(0).host_path; }
  std::string text(const std::string& uid) const { return read_file(file_of(uid), 1 << 20).value_or("none"); }

  DeviceStatement statement{.metadata = Attributes{{"cores", std::int64_t{32}}, {"slot", std::string("a")}}};
};

TEST_F(DeviceMetadataTest, AStreamOfVersionsIsMountedWhereContainersLookForIt) {
  statement.network = NetworkData{"net1", {"10.1.2.3/24"}, ""};
  ASSERT_TRUE(prepare_from("u1", {an_allocation("gpu-0", "main/small")}));
  EXPECT_THAT(mounts("u1"),
              ElementsAre(Mount{(folder / "metadata/cardcage.gpu.example.com-claim_u1/main.json").native(),
                                "/var/run/kubernetes.io/dra-device-attributes/resourceclaims/claim-u1/main/"
                                "gpu.example.com-metadata.json",
                                "",
                                {"ro", "bind"}}));
  const std::string body =
      R"("metadata":{"name":"claim-u1","namespace":"team","uid":"u1","generation":1},)"
      R"("requests":[{"name":"main/small","devices":[{"driver":"gpu.example.com","pool":"node","name":"gpu-0",)"
      R"("attributes":{"cores":{"int":32},"model":{"string":"X1"},"slot":{"string":"a"}},)"
      R"("networkData":{"interfaceName":"net1","ips":["10.1.2.3/24"]}}]}]})"
      "\n";
  EXPECT_EQ(text("u1"), R"({"kind":"DeviceMetadata","apiVersion":"metadata.resource.k8s.io/v1beta1",)" + body +
                            R"({"kind":"DeviceMetadata","apiVersion":"metadata.resource.k8s.io/v1alpha1",)" + body);
  struct stat about{};
  ASSERT_EQ(::stat(file_of("u1").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0644u);
}

TEST_F(DeviceMetadataTest, AClaimFromATemplateIsFoundByItsNameInThePod) {
  ASSERT_TRUE(prepare_from("u1", {an_allocation("gpu-0")}, "accelerator"));
  EXPECT_THAT(mounts("u1").at(0).container_path,
              "/var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/accelerator/main/"
              "gpu.example.com-metadata.json");
  EXPECT_THAT(text("u1"), HasSubstr(R"("podClaimName":"accelerator")"));
}

TEST_F(DeviceMetadataTest, TheFirstDeviceOfARequestBringsItsFileAlong) {
  ASSERT_TRUE(prepare_from("u1", {an_allocation("gpu-0", "a"), an_allocation("gpu-1", "a"), an_allocation("gpu-2", "b"),
                                  an_allocation("nic-0", "a")}));
  EXPECT_EQ(mounts("u1", 0).size(), 1u);
  EXPECT_THAT(mounts("u1", 1), IsEmpty());
  EXPECT_EQ(mounts("u1", 2).size(), 1u);
  EXPECT_THAT(text("u1"), HasSubstr("\"name\":\"gpu-1\""));
  EXPECT_THAT(text("u1"), HasSubstr("\"name\":\"nic-0\"")) << "the device of a module without metadata";
  EXPECT_THAT(text("u1"), Not(HasSubstr("gpu-2")));
}

TEST_F(DeviceMetadataTest, WithoutADescriptionThereIsNoFile) {
  statement = {};
  ASSERT_TRUE(prepare_from("u1", {an_allocation("gpu-0")}));
  EXPECT_THAT(mounts("u1"), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder / "metadata"));
}

TEST_F(DeviceMetadataTest, IsRemovedByUnprepareAndSweptAtTheStart) {
  ASSERT_TRUE(prepare_from("u1", {an_allocation("gpu-0")}));
  ASSERT_TRUE(prepare_from("u2", {an_allocation("gpu-1")}));
  const std::string first = file_of("u1"), second = file_of("u2");
  ASSERT_TRUE(unprepare("u1"));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(first).parent_path()));
  const auto stale = folder / "metadata/cardcage.gpu.example.com-claim_u9";
  std::filesystem::create_directories(stale);
  std::filesystem::create_directories(folder / "metadata/of-another-driver");
  start();
  EXPECT_FALSE(std::filesystem::exists(stale));
  EXPECT_TRUE(std::filesystem::exists(folder / "metadata/of-another-driver"));
  EXPECT_TRUE(std::filesystem::exists(second));
}

TEST_F(DeviceMetadataTest, ARepeatedPrepareRestoresItInPlace) {
  ASSERT_TRUE(prepare_from("u1", {an_allocation("gpu-0")}));
  const std::string content = text("u1");
  struct stat before{}, after{};
  ASSERT_EQ(::stat(file_of("u1").c_str(), &before), 0);
  std::ofstream(file_of("u1")) << std::string(content.size() + 100, 'x');
  ASSERT_TRUE(prepare("u1"));
  EXPECT_EQ(text("u1"), content);
  ASSERT_EQ(::stat(file_of("u1").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino) << "containers have mounted the inode";
  std::filesystem::remove_all(folder / "metadata");
  ASSERT_TRUE(prepare("u1"));
  EXPECT_EQ(text("u1"), content);
}

TEST_F(DeviceMetadataTest, AnotherPrepareByTheModuleIsANewGeneration) {
  ASSERT_TRUE(prepare_from("u1", {an_allocation("gpu-0")}));
  boot_id = "boot-2";
  start();
  ASSERT_TRUE(prepare("u1"));
  EXPECT_THAT(text("u1"), HasSubstr("\"generation\":2"));
}

TEST_F(DeviceMetadataTest, AFileThatCannotBeWrittenFailsThePrepare) {
  std::ofstream(folder / "metadata") << "in the way";
  EXPECT_THAT(text_of(prepare_from("u1", {an_allocation("gpu-0")})), HasSubstr((folder / "metadata").native()));
}

TEST_F(DeviceMetadataTest, ADeviceHasAtMostAsManyAttributesAsInASlice) {
  Attributes many;
  for (int i = 0; i < 32; ++i) many.emplace(fmt::format("a{}", i), std::int64_t{i});
  statement.metadata = many;
  EXPECT_THAT(
      text_of(prepare_from("u1", {an_allocation("gpu-0")})),
      HasSubstr("device 'gpu-0' is described by 34 attributes together with those that it reports, at most 32"));
}

}  // namespace
}  // namespace cardcage
