#include "host/rpc/unix_socket.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <fstream>

#include "sim/scratch_folder.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

UniqueFd bound(const fs::path& path) {
  UniqueFd fd = new_unix_socket();
  EXPECT_EQ(bind_unix(fd, *unix_address(path)), 0);
  return fd;
}

TEST(UnixSocketTest, DistinguishesSocketsThatFollowEachOtherAtAPath) {
  const ScratchFolder folder;
  EXPECT_FALSE(socket_identity(folder / "s"));
  bound(folder / "s");
  const auto first = socket_identity(folder / "s");
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->is_socket);
  EXPECT_EQ(socket_identity(folder / "s"), first);
  fs::permissions(folder / "s", fs::perms::owner_all);
  EXPECT_EQ(socket_identity(folder / "s"), first) << "a change of its mode does not change its identity";
  fs::remove(folder / "s");
  bound(folder / "s");
  EXPECT_NE(socket_identity(folder / "s"), first);
  std::ofstream(folder / "f");
  EXPECT_FALSE(socket_identity(folder / "f")->is_socket);
}

TEST(UnixSocketTest, KnowsWhetherASocketIsServed) {
  const ScratchFolder folder;
  EXPECT_FALSE(is_served(folder / "s"));
  const UniqueFd fd = bound(folder / "s");
  EXPECT_FALSE(is_served(folder / "s"));
  ASSERT_EQ(::listen(fd.get(), 0), 0);
  EXPECT_TRUE(is_served(folder / "s"));
  EXPECT_TRUE(is_served(folder / "s")) << "even with a full backlog";
}

TEST(UnixSocketTest, RemovesOnlyItsOwnStaleSockets) {
  const ScratchFolder folder;
  for (const char* name : {"cardcage-x.sock", ".cardcage-y.sock", "cardcage-x.socket", "other.sock"})
    bound(folder / name);
  std::ofstream(folder / "cardcage-file.sock");
  const UniqueFd alive = bound(folder / "cardcage-alive.sock");
  ASSERT_EQ(::listen(alive.get(), 8), 0);
  remove_stale_sockets(folder.path());
  EXPECT_FALSE(fs::exists(folder / "cardcage-x.sock"));
  EXPECT_FALSE(fs::exists(folder / ".cardcage-y.sock"));
  for (const char* name : {"cardcage-x.socket", "other.sock", "cardcage-file.sock", "cardcage-alive.sock"})
    EXPECT_TRUE(fs::exists(folder / name)) << name;
  remove_stale_sockets(folder / "missing");
}

}  // namespace
}  // namespace cardcage
