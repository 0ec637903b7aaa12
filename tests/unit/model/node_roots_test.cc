// Translation between paths of the daemon and of the node.
#include "host/model/node_roots.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

TEST(NodeRootsTest, ByDefaultBothAreTheSame) {
  const NodeRoots roots;
  for (const char* const path : {"/dev/nvidia0", "/usr/lib64/libcuda.so.1", "/"}) {
    EXPECT_EQ(roots.on_node(path), path);
    EXPECT_EQ(roots.driver_path_on_node(path), path);
    EXPECT_EQ(roots.seen_here(path), path);
  }
  const NodeRoots of_container{.driver = "/run/nvidia/driver"};
  EXPECT_EQ(of_container.driver_path_on_node("/run/nvidia/driver/usr/bin/nvidia-smi"),
            "/run/nvidia/driver/usr/bin/nvidia-smi");
}

TEST(NodeRootsTest, FilesOfADriverInTheNodesRoot) {
  const NodeRoots roots{.devfs = "/host/dev", .driver = "/driver-root", .driver_on_node = "/"};
  EXPECT_EQ(roots.driver_path_on_node("/driver-root/usr/lib64/libcuda.so.1"), "/usr/lib64/libcuda.so.1");
  EXPECT_EQ(roots.driver_path_on_node("/driver-rooted/x"), "/driver-rooted/x");
  EXPECT_EQ(roots.driver_path_on_node("/run/nvidia/mps/u1/pipe"), "/run/nvidia/mps/u1/pipe")
      << "not a file of the driver";
  EXPECT_EQ(roots.seen_here("/usr/lib64/libcuda.so.1"), "/driver-root/usr/lib64/libcuda.so.1");
  EXPECT_EQ(roots.seen_here("/dev/nvidia0"), "/host/dev/nvidia0");
  EXPECT_EQ(roots.on_node("/host/dev/nvidia0"), "/dev/nvidia0");
  EXPECT_EQ(roots.on_node("/driver-root/usr/lib64/libcuda.so.1"), "/usr/lib64/libcuda.so.1");
}

TEST(NodeRootsTest, FilesOfADriverInAFolderOfTheNode) {
  const NodeRoots roots{.driver = "/driver-root", .driver_on_node = "/opt/nvidia"};
  EXPECT_EQ(roots.driver_path_on_node("/driver-root/lib/x.so"), "/opt/nvidia/lib/x.so");
  EXPECT_EQ(roots.seen_here("/opt/nvidia/lib/x.so"), "/driver-root/lib/x.so");
  EXPECT_EQ(roots.seen_here("/usr/lib/x.so"), "/usr/lib/x.so");
}

}  // namespace
}  // namespace cardcage
