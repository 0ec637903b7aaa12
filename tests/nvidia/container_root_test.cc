// The module requests two changes in a container's root: the loader finds the driver, and the driver's programs leave
// device nodes alone.
#include <fstream>

#include "tests/nvidia/nvidia_fixture.h"

namespace cardcage {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NvidiaContainerRoot : public NvidiaFixture {
 protected:
  Edits prepared(const Options& options = {}) {
    EXPECT_TRUE(start_again(options));
    discover();
    ModuleClaim wanted = claim_of(fmt::format("u{}", ++claims_), {"gpu-0"});
    const auto edits = prepare(wanted);
    EXPECT_TRUE(edits) << edits.error().message;
    return edits ? edits->claim : Edits();
  }
  void write_params(const std::string& text) const { std::ofstream(gpus->procfs() / "driver/nvidia/params") << text; }
  void SetUp() override { gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100", .gpus = 1}); }

  const std::string folder_of_debian_ =
#ifdef __aarch64__
      "/usr/lib/aarch64-linux-gnu";
#else
      "/usr/lib/x86_64-linux-gnu";
#endif

 private:
  int claims_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaContainerRoot, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NvidiaContainerRoot, TheLoaderSearchesTheDriverAndAnImagesNewerCompatibilityLibrariesFirst) {
  EXPECT_THAT(prepared().ld_paths, ElementsAre(LdPath{"/usr/local/cuda/compat", "libcuda.so.580"},
                                               LdPath{"/usr/lib64", ""}, LdPath{folder_of_debian_, ""}));
  EXPECT_THAT(prepared({{"driver_capabilities", std::vector<std::string>{"utility"}}}).ld_paths,
              ElementsAre(LdPath{"/usr/lib64", ""}, LdPath{folder_of_debian_, ""}))
      << "without compute there is no libcuda";
}

TEST_P(NvidiaContainerRoot, ProgramsOfTheDriverMakeNoDeviceNodes) {
  write_params("ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileMode: 438\n");
  EXPECT_THAT(prepared().proc_texts,
              ElementsAre(ProcText{"/proc/driver/nvidia/params",
                                   "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 0\nDeviceFileMode: 438\n"}));
  write_params("ModifyDeviceFiles: 0\n");
  EXPECT_THAT(prepared().proc_texts, IsEmpty()) << "they do not anyway";
  std::filesystem::remove(gpus->procfs() / "driver/nvidia/params");
  EXPECT_THAT(prepared().proc_texts, IsEmpty());
}

// The driver is in the node's root, which a daemon in a container sees below a folder.
TEST_P(NvidiaContainerRoot, FilesOfTheDriverAreNamedAsOnTheNode) {
  const std::string here = gpus->driver_root().native() + "/";
  driver_on_node = "/";
  const Edits edits = prepared();
  EXPECT_THAT(edits.mounts, Contains(Field(&Mount::host_path, "/usr/lib64/libcuda.so.580.65.06")));
  for (const Mount& mount : edits.mounts) EXPECT_FALSE(mount.host_path.starts_with(here)) << mount.host_path;
  driver_on_node.clear();
  EXPECT_THAT(prepared().mounts, Contains(Field(&Mount::host_path, here + "usr/lib64/libcuda.so.580.65.06")));
}

TEST_P(NvidiaContainerRoot, ProgramsOfTheDriverGetItsLibrary) {
  ASSERT_TRUE(start_again());
  discover();
  ModuleClaim wanted =
      claim_of("u1", {"gpu-0"}, R"("sharing":{"strategy":"TimeSlicing","timeSlicingConfig":{"interval":"Long"}})");
  ASSERT_TRUE(prepare(wanted));
  EXPECT_THAT(gpus->smi_log(), HasSubstr("LD_PRELOAD=" + gpus->driver_root().native() +
                                         "/usr/lib64/libnvidia-ml.so.580.65.06 compute-policy"));
}

}  // namespace
}  // namespace cardcage
