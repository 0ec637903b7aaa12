// Sockets, ports and locks that another process holds when the daemon starts, and sockets that a dead daemon left.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/core/file.h"
#include "host/core/unique_fd.h"
#include "host/rpc/unix_socket.h"
#include "tests/daemon/admin_client.h"
#include "tests/daemon/daemon_fixture.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/http_get.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

// A socket file at the path. It is stale once the descriptor is closed.
UniqueFd bound(const fs::path& path) {
  fs::create_directories(path.parent_path());
  UniqueFd socket = new_unix_socket();
  EXPECT_EQ(bind_unix(socket, unix_address(path).value()), 0) << path;
  return socket;
}

class OpenTest : public DaemonTest {
 protected:
  std::string configuration() const { return read_file(daemon.folder() / "cardcage.toml", 1 << 20).value(); }
  fs::path registration(const std::string& driver) const {
    return daemon.folder() / "kubelet/plugins_registry" / (driver + "-reg.sock");
  }
};

TEST_F(OpenTest, TheMetricsPortIsServedOnceItIsFree) {
  UniqueFd other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(other.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(other.get(), 1), 0);
  ASSERT_EQ(::getsockname(other.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::uint16_t port = ntohs(address.sin_port);
  std::string text = configuration();
  const std::string off = "listen = \"\"";
  text.replace(text.find(off), off.size(), fmt::format("listen = \"127.0.0.1:{}\"", port));
  daemon.configure(text);

  start_and_register();
  EXPECT_TRUE(shows("status", fmt::format("warning: metrics are not served: cannot listen on '127.0.0.1:{}'", port)));
  other = UniqueFd();
  EXPECT_TRUE(logged("metrics are served", std::chrono::seconds(10)));
  EXPECT_THAT(http_get(port, "/healthz"), HasSubstr("ok"));
  EXPECT_THAT(cagectl("status").text, Not(HasSubstr("metrics are not served")));
}

TEST_F(OpenTest, TheAdminSocketIsServedOnceItsPathIsFree) {
  const fs::path path = daemon.folder() / "admin.sock";
  UniqueFd other = bound(path);
  ASSERT_EQ(::listen(other.get(), 8), 0);
  start_and_register();
  EXPECT_TRUE(logged(fmt::format("is served by process {}", ::getpid())));
  EXPECT_TRUE(logged("or set node.admin_socket"));
  const ClaimRef claim = add_claim("one", {"gpu-1"});
  EXPECT_EQ(prepare(claim).size(), 1) << "devices are served meanwhile";
  other = UniqueFd();
  EXPECT_TRUE(shows("status", "cardcage ", std::chrono::seconds(10)));
  EXPECT_THAT(cagectl("status").text, Not(HasSubstr("admin socket")));
}

TEST_F(OpenTest, TheReadOnlySocketIsServedAndServedAgain) {
  const fs::path folder = daemon.folder() / "view";
  std::string text = configuration();
  const std::string metrics = "[metrics]";
  text.replace(text.find(metrics), 0, fmt::format("read_only_socket = \"{}/admin.sock\"\n", folder.native()));
  daemon.configure(text);
  start_and_register();
  const auto read = [&] { return AdminClient(folder / "admin.sock").status().node(); };
  EXPECT_EQ(read(), "node1");
  EXPECT_TRUE(shows("status", "node1")) << "the admin socket is another one";
  std::error_code restored;  // the daemon may restore the socket before the folder is removed
  fs::remove_all(folder, restored);
  EXPECT_TRUE(eventually([&] { return is_served(folder / "admin.sock"); }, std::chrono::seconds(60)));
  EXPECT_EQ(read(), "node1");
}

TEST_F(OpenTest, APathThatIsNoSocketIsTriedAgain) {
  fs::create_directory(daemon.folder() / "admin.sock");
  fs::create_directories(daemon.folder() / "run/sandbox.sock");
  start_and_register();
  EXPECT_TRUE(logged("is in the way and is not a socket"));
  fs::remove(daemon.folder() / "admin.sock");
  EXPECT_TRUE(shows("status", "sandbox.sock' is in the way", std::chrono::seconds(10)));
  fs::remove(daemon.folder() / "run/sandbox.sock");
  EXPECT_TRUE(eventually([&] { return is_served(daemon.folder() / "run/sandbox.sock"); }, std::chrono::seconds(10)));
}

TEST_F(OpenTest, SocketsOfADriverThatIsNoLongerConfiguredAreRemoved) {
  start_and_register();
  daemon.crash();
  ASSERT_TRUE(fs::exists(registration(kDriver)));
  const fs::path foreign = daemon.folder() / "kubelet/plugins/foreign.example.com/dra.sock";
  std::ignore = bound(foreign);
  configure("devices = [\"gpu:4\"]", "other.example.com");
  daemon.start();
  ASSERT_TRUE(kubelet.wait_registered("other.example.com")) << daemon.log();
  EXPECT_FALSE(fs::exists(registration(kDriver)));
  EXPECT_FALSE(fs::exists(daemon.folder() / "kubelet/plugins" / kDriver / "dra.sock"));
  EXPECT_TRUE(fs::exists(foreign)) << "it belongs to another driver";
}

TEST_F(OpenTest, SocketsOfResourcesAreRemovedAlsoIfNoneIsConfigured) {
  const fs::path stale = daemon.folder() / "device-plugins/cardcage-abcdefgh-12345678.sock";
  std::ignore = bound(stale);
  start_and_register();
  EXPECT_FALSE(fs::exists(stale));
}

TEST_F(OpenTest, ASecondDaemonWithTheSameRunDirSaysWhoHoldsIt) {
  start_and_register();
  DaemonProcess next{built_program(CARDCAGE_DAEMON), built_module("mock")};
  std::string node = next.node_section((next.folder() / "node").native());
  const std::string own = fmt::format("run_dir = \"{}/run\"", next.folder().native());
  node.replace(node.find(own), own.size(), fmt::format("run_dir = \"{}/run\"", daemon.folder().native()));
  next.configure(node);
  next.start();
  ASSERT_TRUE(kubelet.wait_for([&] { return next.logged("waiting for another cardcage to exit"); })) << next.log();
  EXPECT_THAT(next.log(), HasSubstr(fmt::format("another cardcage uses '{}/run'", daemon.folder().native())));
  EXPECT_THAT(next.log(), HasSubstr(fmt::format("held_by=\"process {}\"", daemon.pid())));
  EXPECT_THAT(next.log(), HasSubstr("stop it, or give this daemon a run_dir and a state_dir of its own"));
}

}  // namespace
}  // namespace cardcage
