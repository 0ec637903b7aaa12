#include "host/kubelet/socket_records.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <fstream>

#include "sim/scratch_folder.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

class SocketRecordsTest : public ::testing::Test {
 protected:
  UniqueFd bound(const fs::path& path) const {
    UniqueFd socket = new_unix_socket();
    EXPECT_EQ(bind_unix(socket, unix_address(path).value()), 0) << path;
    return socket;
  }
  DriverSockets sockets(const std::string& driver) const {
    return {folder_ / (driver + "-reg.sock"), folder_ / (driver + ".sock")};
  }
  // Leaves the record and the stale sockets of a driver.
  void leave(const std::string& driver) const {
    keep_socket_record(records_, driver, sockets(driver));
    for (const fs::path& path : {sockets(driver).registration, sockets(driver).service}) std::ignore = bound(path);
  }
  bool has_sockets(const std::string& driver) const {
    return fs::exists(sockets(driver).registration) && fs::exists(sockets(driver).service);
  }

  ScratchFolder folder_;
  const fs::path records_ = folder_ / "records";
};

TEST_F(SocketRecordsTest, SocketsOfDriversThatAreNotServedAreRemoved) {
  leave("gone");
  leave("kept");
  std::ignore = bound(sockets("foreign").registration);
  remove_recorded_sockets(records_, {"kept"});
  EXPECT_FALSE(fs::exists(sockets("gone").registration));
  EXPECT_FALSE(fs::exists(sockets("gone").service));
  EXPECT_FALSE(fs::exists(records_ / "gone"));
  EXPECT_TRUE(has_sockets("kept"));
  EXPECT_TRUE(fs::exists(records_ / "kept"));
  EXPECT_TRUE(fs::exists(sockets("foreign").registration));
}

TEST_F(SocketRecordsTest, ASocketThatIsServedAndAFileThatIsNoneStay) {
  keep_socket_record(records_, "gone", sockets("gone"));
  const UniqueFd served = bound(sockets("gone").registration);
  ASSERT_EQ(::listen(served.get(), 1), 0);
  std::ofstream(sockets("gone").service) << "a file";
  remove_recorded_sockets(records_, {});
  EXPECT_TRUE(has_sockets("gone"));
}

TEST_F(SocketRecordsTest, OtherPathsOfADriverReplaceItsFormerOnes) {
  leave("driver");
  keep_socket_record(records_, "driver", {folder_ / "driver-b-reg.sock", sockets("driver").service});
  EXPECT_FALSE(fs::exists(sockets("driver").registration));
  EXPECT_TRUE(fs::exists(sockets("driver").service)) << "it still has this path";
}

TEST_F(SocketRecordsTest, WithoutRecordsNothingIsRemoved) {
  std::ignore = bound(sockets("foreign").registration);
  remove_recorded_sockets(records_, {});
  EXPECT_TRUE(fs::exists(sockets("foreign").registration));
}

}  // namespace
}  // namespace cardcage
