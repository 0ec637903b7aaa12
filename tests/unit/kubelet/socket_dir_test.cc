#include "host/kubelet/socket_dir.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kRoot = "/var/lib/kubelet";
constexpr std::string_view kPod = "3f0c6a86-54fd-4ab2-9ac6-f00dfeed0001";

TEST(SocketDirTest, NamesTheSocketsAsKubeletPluginsDo) {
  EXPECT_EQ(driver_sockets(kRoot, "gpu.example.com", ""),
            (DriverSockets{"/var/lib/kubelet/plugins_registry/gpu.example.com-reg.sock",
                           "/var/lib/kubelet/plugins/gpu.example.com/dra.sock"}));
  EXPECT_EQ(driver_sockets("/k0s", "gpu.example.com", kPod),
            (DriverSockets{"/k0s/plugins_registry/gpu.example.com-3f0c6a86-54fd-4ab2-9ac6-f00dfeed0001-reg.sock",
                           "/k0s/plugins/gpu.example.com/dra-3f0c6a86-54fd-4ab2-9ac6-f00dfeed0001.sock"}));
}

TEST(SocketDirTest, HashesTheInstanceAndThenEverythingWhenThePathGetsLong) {
  // 43 bytes: the hashed instance fits, the plain one does not.
  const std::string longer = "accelerators.of-a-longer-name.vendor.ex.com";
  EXPECT_EQ(driver_sockets(kRoot, longer, kPod),
            (DriverSockets{"/var/lib/kubelet/plugins_registry/" + longer + "-BuDYkbC1aYY-reg.sock",
                           "/var/lib/kubelet/plugins/" + longer + "/dra-BuDYkbC1aYY.sock"}));
  // A long root leaves no room for the driver's name at all.
  const std::string root = "/" + std::string(50, 'r');
  EXPECT_EQ(driver_sockets(root, "gpu.example.com", kPod)->registration,
            root + "/plugins_registry/gpu.example.com-BuDYkbC1aYY-reg.sock");
  const std::string longest(63, 'd');
  const auto hashed = driver_sockets(root, longest, kPod);
  ASSERT_TRUE(hashed);
  EXPECT_THAT(hashed->registration.native(), ::testing::StartsWith(root + "/plugins_registry/dra-"));
  EXPECT_THAT(hashed->service.native(), ::testing::StartsWith(root + "/plugins/dra-"));
}

TEST(SocketDirTest, HashesLikeTheGoHelper) {
  const std::string root = "/" + std::string(48, 'r');
  const auto sockets = driver_sockets(root, "gpu.example.com", kPod);
  ASSERT_TRUE(sockets);
  EXPECT_EQ(sockets->service, root + "/plugins/gpu.example.com/dra-BuDYkbC1aYY.sock");
  const std::string deeper = "/" + std::string(53, 'r');
  EXPECT_EQ(driver_sockets(deeper, "gpu.example.com", kPod)->registration,
            deeper + "/plugins_registry/dra-GDct1lNzk3qwccmGjqt7gQ-reg.sock");
}

TEST(SocketDirTest, EveryPathFitsIntoASocketAddress) {
  for (std::size_t root = 1; root < 90; ++root)
    for (std::size_t name : {1, 15, 37, 63})
      for (const std::string_view instance : {std::string_view(), kPod}) {
        const auto sockets = driver_sockets("/" + std::string(root, 'r'), std::string(name, 'd'), instance);
        if (!sockets) continue;
        EXPECT_LE(sockets->registration.native().size(), kMaxSocketPath);
        EXPECT_LE(sockets->service.native().size(), kMaxSocketPath);
      }
}

TEST(SocketDirTest, SaysWhatToShortenWhenNothingFits) {
  const auto refused = driver_sockets("/" + std::string(100, 'r'), "gpu.example.com", "");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("unix sockets allow 107: use a shorter node.kubelet_root"));
}

TEST(SocketDirTest, RefusesNamesThatEscapeTheFolder) {
  for (const char* driver : {"", "../x", "a/b", ".hidden", "a b", "a\nb"})
    EXPECT_FALSE(driver_sockets(kRoot, driver, "")) << driver;
  EXPECT_FALSE(driver_sockets(kRoot, std::string(64, 'd'), ""));
  EXPECT_FALSE(driver_sockets(kRoot, "gpu.example.com", "../../x"));
  EXPECT_FALSE(driver_sockets("relative", "gpu.example.com", ""));
}

TEST(SocketDirTest, NamesTheSocketsOfResources) {
  EXPECT_EQ(resource_registry_socket(kRoot, "example.com/gpu", ""),
            "/var/lib/kubelet/plugins_registry/cardcage-example.com_gpu-reg.sock");
  EXPECT_EQ(resource_registry_socket(kRoot, "example.com/gpu", "blue"),
            "/var/lib/kubelet/plugins_registry/cardcage-example.com_gpu-blue-reg.sock");
  EXPECT_EQ(resource_registry_socket(kRoot, "example.com/" + std::string(30, 'g'), kPod)->filename().native(),
            "cardcage-example.com_" + std::string(30, 'g') + "-BuDYkbC1aYY-reg.sock");
  const auto own = resource_socket("/var/lib/kubelet/device-plugins", "example.com/gpu", "0a1b2c3d-7");
  ASSERT_TRUE(own);
  EXPECT_THAT(own->native(),
              ::testing::MatchesRegex("/var/lib/kubelet/device-plugins/cardcage-[A-Za-z0-9_-]{11}-0a1b2c3d-7.sock"));
  EXPECT_NE(own, resource_socket("/var/lib/kubelet/device-plugins", "example.com/nic", "0a1b2c3d-7"));
}

TEST(SocketDirTest, LeavesRoomForTheDotOfAResourcesHiddenName) {
  for (std::size_t root = 1; root < 90; ++root)
    for (std::size_t name : {1, 15, 37, 63})
      for (const std::string_view instance : {std::string_view(), kPod}) {
        const std::string folder = "/" + std::string(root, 'r'), resource = "example.com/" + std::string(name, 'g');
        for (const auto& socket :
             {resource_registry_socket(folder, resource, instance), resource_socket(folder, resource, "0a1b2c3d-7")}) {
          EXPECT_LT(socket ? socket->native().size() : 0, kMaxSocketPath);
        }
      }
}

TEST(SocketDirTest, RefusesInvalidResourceNamesAndPathsThatAreTooLong) {
  for (const char* resource : {"", "gpu", "/gpu", "example.com/", "../x/y", "a/b/c", "a/..", "a/b c"}) {
    EXPECT_FALSE(resource_registry_socket(kRoot, resource, "")) << resource;
    EXPECT_FALSE(resource_socket("/x", resource, "1")) << resource;
  }
  EXPECT_FALSE(resource_registry_socket("relative", "a/b", ""));
  EXPECT_FALSE(resource_registry_socket(kRoot, "a/b", "../x"));
  EXPECT_THAT(resource_socket("/" + std::string(90, 'd'), "a/b", "1").error().message,
              HasSubstr("use a shorter node.device_plugins_dir"));
}

}  // namespace
}  // namespace cardcage
