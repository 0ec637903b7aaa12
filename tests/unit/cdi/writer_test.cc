#include "host/cdi/writer.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "host/core/file.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/small_disk.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

const std::string kDriverName = "gpu.example.com";
const ServedName kServed{Api::kDra, kDriverName};

CdiSpec spec_of(const std::string& uid, const std::string& text = "1") {
  CdiSpec spec;
  spec.kind = cdi_kind(kServed);
  spec.devices.resize(1);
  spec.devices[0].name = cdi_device_name(uid, "gpu-0", "");
  spec.devices[0].edits.env.push_back({"GPU", text});
  return spec;
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

TEST(CdiWriterTest, WritesReadsListsAndRemoves) {
  const ScratchFolder scratch;
  const CdiWriter writer(scratch / "cdi");
  EXPECT_EQ(writer.list().value().size(), 0u) << "no folder yet";
  ASSERT_TRUE(writer.write(kDriverName, "u1", spec_of("u1")));
  ASSERT_TRUE(writer.write(kDriverName, "u2", spec_of("u2")));
  ASSERT_TRUE(writer.write(kDriverName, "u1", spec_of("u1", "again")));
  EXPECT_THAT(writer.list().value(), UnorderedElementsAre(ClaimFile{kServed, "u1"}, ClaimFile{kServed, "u2"}));
  EXPECT_EQ(writer.read({kServed, "u1"}).value(), spec_of("u1", "again"));
  EXPECT_TRUE(writer.remove(kDriverName, "u1"));
  EXPECT_TRUE(writer.remove(kDriverName, "u1")) << "removing is idempotent";
  EXPECT_THAT(names_in(scratch / "cdi"), UnorderedElementsAre(claim_file_name(kServed, "u2")));
}

TEST(CdiWriterTest, SweepsOnlyOurFiles) {
  const ScratchFolder scratch;
  const CdiWriter writer(scratch.path());
  const std::string half = ".cardcage.gpu.example.com-claim_u3.json.tmp";
  for (const char* name : {"nvidia.yaml", "k8s.gpu.nvidia.com-claim_u1.json", ".other.tmp", half.c_str()})
    ASSERT_TRUE(write_file_atomically(scratch / name, "{}", 0644, false));
  ASSERT_TRUE(writer.write(kDriverName, "keep", spec_of("keep")));
  ASSERT_TRUE(writer.write(kDriverName, "drop", spec_of("drop")));
  EXPECT_EQ(writer.sweep([](const ClaimFile& file) { return file.uid == "keep"; }).value(), 2u);
  EXPECT_THAT(names_in(scratch.path()), UnorderedElementsAre("nvidia.yaml", "k8s.gpu.nvidia.com-claim_u1.json",
                                                             ".other.tmp", claim_file_name(kServed, "keep")));
}

TEST(CdiWriterTest, MetadataComesAndGoesWithTheSpec) {
  const ScratchFolder scratch;
  const CdiWriter writer(scratch / "cdi", scratch / "metadata");
  const auto folder = writer.metadata_folder(kDriverName, "u1");
  EXPECT_EQ(folder, scratch / "metadata/cardcage.gpu.example.com-claim_u1");
  CdiSpec spec = spec_of("u1");
  spec.files = {{.request = "main", .host_path = folder / "main.json", .container_path = "/m", .content = "long"}};
  ASSERT_TRUE(writer.write(kDriverName, "u1", spec));
  EXPECT_EQ(read_file(folder / "main.json", 64).value(), "long");
  const FileStamp first = stamp_of(folder / "main.json");
  ASSERT_TRUE(writer.write(kDriverName, "u1", spec));
  EXPECT_EQ(stamp_of(folder / "main.json"), first) << "the same content is not written again";
  spec.files[0].content = "new";
  ASSERT_TRUE(writer.write(kDriverName, "u1", spec));
  EXPECT_EQ(read_file(folder / "main.json", 64).value(), "new") << "old content beyond the new one is cut off";
  EXPECT_EQ(stamp_of(folder / "main.json").inode, first.inode);
  EXPECT_TRUE(writer.remove(kDriverName, "u1"));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(CdiWriterTest, ABrokenFileIsAnErrorThatNamesIt) {
  const ScratchFolder scratch;
  const CdiWriter writer(scratch.path());
  ASSERT_TRUE(write_file_atomically(scratch / claim_file_name(kServed, "u1"), "{\"kind\":", 0644, false));
  const auto spec = writer.read({kServed, "u1"});
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().code, Code::kDataLoss);
  EXPECT_THAT(spec.error().message, HasSubstr(claim_file_name(kServed, "u1")));
}

TEST(CdiWriterTest, AReadOnlyFolderIsNamedWithItsRemedy) {
  const ScratchFolder scratch;
  const ReadOnlyFolder read_only(scratch / "cdi");
  if (!read_only.works()) GTEST_SKIP() << "needs to be able to mount or not to be root";
  const CdiWriter writer(read_only.path());
  const auto written = writer.write(kDriverName, "u1", spec_of("u1"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::kPermissionDenied);
  EXPECT_THAT(written.error().message, HasSubstr("mount the CDI folder '" + read_only.path().native() + "' writable"));
}

TEST(CdiWriterTest, AFullDiskIsNamedAndLeavesTheOldFile) {
  const ScratchFolder scratch;
  SmallDisk disk(scratch / "cdi");
  if (!disk.works()) GTEST_SKIP() << "needs to be able to mount";
  const CdiWriter writer(disk.path());
  ASSERT_TRUE(writer.write(kDriverName, "u1", spec_of("u1")));
  disk.fill();
  const auto written = writer.write(kDriverName, "u1", spec_of("u1", std::string(100'000, 'x')));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::kResourceExhausted);
  EXPECT_THAT(written.error().message, HasSubstr("free space in the CDI folder"));
  EXPECT_EQ(writer.read({kServed, "u1"}).value(), spec_of("u1"));
  disk.free();
  EXPECT_TRUE(writer.write(kDriverName, "u1", spec_of("u1", "again")));
}

}  // namespace
}  // namespace cardcage
