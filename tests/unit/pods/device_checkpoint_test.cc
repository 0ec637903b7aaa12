#include "host/pods/device_checkpoint.h"

#include <gmock/gmock.h>

#include "host/core/file.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"
#include "tests/unit/pods/resource_devices.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre, ::testing::IsEmpty, ::testing::Pair;

// The file that a kubelet of Kubernetes 1.36 writes.
constexpr std::string_view kFile = R"({"Data":{"PodDeviceEntries":[
  {"PodUID":"uid-a","ContainerName":"main","ResourceName":"example.com/fpga",
   "DeviceIDs":{"-1":["fpga-9"],"0":["fpga-1","fpga-1"]},"AllocResp":"EgA="},
  {"PodUID":"uid-b","ContainerName":"init","ResourceName":"example.com/fpga","DeviceIDs":{"0":["fpga-1"]},"AllocResp":""},
  {"PodUID":"uid-c","ContainerName":"main","ResourceName":"example.com/nic","DeviceIDs":{"0":["fpga-2"]},"AllocResp":""}],
  "RegisteredDevices":{"example.com/fpga":["fpga-1","fpga-2"]}},"Checksum":4053454321})";

Result<CheckpointHolders> parse(std::string_view text, std::size_t piece = std::string_view::npos) {
  CheckpointParser parser({kOne, kTwo});
  for (std::size_t at = 0; at < text.size(); at += std::min(piece, text.size()))
    if (const Status fed = parser.feed(text.substr(at, piece)); !fed) return std::unexpected(fed.error());
  return parser.finish();
}
std::string with_entries(std::string_view entries) {
  return fmt::format(R"({{"Data":{{"PodDeviceEntries":{}}}}})", entries);
}

TEST(DeviceCheckpointTest, NamesThePodsOfWantedDevices) {
  for (const std::size_t piece : {std::string_view::npos, std::size_t(1), std::size_t(7)}) {
    const auto holders = parse(kFile, piece);
    ASSERT_TRUE(holders) << holders.error().message;
    EXPECT_THAT(*holders, ElementsAre(Pair(kOne, ElementsAre("uid-a", "uid-b"))));
  }
}

TEST(DeviceCheckpointTest, ReadsThePlainListsOfOldKubelets) {
  const auto holders = parse(with_entries(
      R"([{"PodUID":"uid-a","ContainerName":"c","ResourceName":"example.com/fpga","DeviceIDs":["fpga-2","x"]}])"));
  ASSERT_TRUE(holders) << holders.error().message;
  EXPECT_THAT(*holders, ElementsAre(Pair(kTwo, ElementsAre("uid-a"))));
}

TEST(DeviceCheckpointTest, NoEntriesMeanThatNoPodHasADevice) {
  for (const char* entries : {"null", "[]"}) {
    const auto holders = parse(with_entries(entries));
    ASSERT_TRUE(holders) << holders.error().message;
    EXPECT_THAT(*holders, IsEmpty());
  }
  EXPECT_TRUE(parse(with_entries(R"([{"PodUID":"a","ResourceName":"r","DeviceIDs":null}])")));
  EXPECT_TRUE(parse(with_entries(R"([{"PodUID":"a","ResourceName":"r","DeviceIDs":{"0":null}}])")));
}

TEST(DeviceCheckpointTest, IgnoresUnknownMembers) {
  const auto holders = parse(R"({"Version":2,"More":[{"PodUID":1}],"Data":{"Extra":{"PodDeviceEntries":[1]},
    "PodDeviceEntries":[{"New":{"DeviceIDs":[1,{"0":[true]}]},"DeviceIDs":{"0":["fpga-1"]},"Size":1e3,
    "ResourceName":"example.com/fpga","PodUID":"uid-a","Old":null}]}})");
  ASSERT_TRUE(holders) << holders.error().message;
  EXPECT_THAT(*holders, ElementsAre(Pair(kOne, ElementsAre("uid-a"))));
}

TEST(DeviceCheckpointTest, AnUnexpectedFormIsAnError) {
  const std::string deep = std::string(100'000, '[');
  const std::string long_uid(2'000, 'u');
  for (const std::string& text : {
           std::string(),
           std::string("{"),
           std::string("null"),
           std::string("[]"),
           std::string("{}"),
           deep,
           std::string(R"({"Data":{}})"),
           std::string(R"({"Data":[]})"),
           std::string(R"({"Data":null})"),
           std::string(kFile) + "{}",
           std::string(kFile.substr(0, kFile.size() - 1)),
           with_entries("{}"),
           with_entries("1"),
           with_entries("[1]"),
           with_entries("[[]]"),
           with_entries("[{}]"),
           with_entries(R"([{"PodUID":"a","ResourceName":"r","DeviceIDs":"fpga-1"}])"),
           with_entries(R"([{"PodUID":"a","ResourceName":"r","DeviceIDs":[1]}])"),
           with_entries(R"([{"PodUID":"a","ResourceName":"r","DeviceIDs":[["fpga-1"]]}])"),
           with_entries(R"([{"PodUID":"a","ResourceName":"r","DeviceIDs":{"0":"fpga-1"}}])"),
           with_entries(R"([{"PodUID":"a","ResourceName":"r","DeviceIDs":{"0":{"1":["fpga-1"]}}}])"),
           with_entries(R"([{"PodUID":1,"ResourceName":"r","DeviceIDs":["fpga-1"]}])"),
           with_entries(R"([{"PodUID":"","ResourceName":"r","DeviceIDs":["fpga-1"]}])"),
           with_entries(R"([{"ResourceName":"r","DeviceIDs":["fpga-1"]}])"),
           with_entries(R"([{"PodUID":"a","DeviceIDs":["fpga-1"]}])"),
           with_entries(R"([{"PodUID":")" + long_uid + R"(","ResourceName":"r","DeviceIDs":["fpga-1"]}])"),
           with_entries("[{\"PodUID\":\"\xff\",\"ResourceName\":\"r\",\"DeviceIDs\":[\"fpga-1\"]}]"),
       }) {
    const auto holders = parse(text);
    ASSERT_FALSE(holders) << text.substr(0, 200);
    EXPECT_EQ(holders.error().code, Code::kDataLoss);
    EXPECT_NE(holders.error().message, "");
  }
}

TEST(DeviceCheckpointTest, AThousandPodsOfOneDeviceAreAnError) {
  std::string entries = "[";
  for (int i = 0; i < 1001; ++i)
    entries += fmt::format(R"({}{{"PodUID":"u{}","ResourceName":"example.com/fpga","DeviceIDs":["fpga-1"]}})",
                           i == 0 ? "" : ",", i);
  EXPECT_FALSE(parse(with_entries(entries + "]")));
}

class CheckpointFileTest : public CoreFixture {
 protected:
  Result<CheckpointHolders> read() { return run(read_device_checkpoint(file, {kOne, kTwo})); }
  ScratchFolder folder;
  const std::filesystem::path file = folder / "kubelet_internal_checkpoint";
};

TEST_F(CheckpointFileTest, IsReadPieceByPiece) {
  std::string large(kFile.substr(0, kFile.find("\"RegisteredDevices\"")));
  large += R"("RegisteredDevices":{"r":[)";
  for (int i = 0; i < 50'000; ++i) large += "\"device-" + std::to_string(i) + "\",";
  large += "\"last\"]}},\"Checksum\":1}";
  ASSERT_TRUE(write_file_atomically(file, large, 0600, false));
  int others = 0;
  const std::function<void()> other = [&] {
    ++others;
    asio::post(core, other);
  };
  asio::post(core, other);
  const auto holders = read();
  ASSERT_TRUE(holders) << holders.error().message;
  EXPECT_EQ(holders->size(), 1);
  EXPECT_GT(others, 10) << "the core runs other work";
}

TEST_F(CheckpointFileTest, AnythingButAFileIsAnError) {
  EXPECT_EQ(read().error().code, Code::kNotFound);
  std::filesystem::create_directory(file);
  EXPECT_EQ(read().error().code, Code::kDataLoss);
  std::filesystem::remove(file);
  std::filesystem::create_symlink("/dev/zero", file);
  EXPECT_FALSE(read());
}

TEST_F(CheckpointFileTest, AFileBeyondTheLimitIsAnError) {
  ASSERT_TRUE(write_file_atomically(file, "{", 0600, false));
  std::filesystem::resize_file(file, kMaxCheckpointBytes + 1);  // zeros: not JSON
  EXPECT_EQ(read().error().code, Code::kDataLoss);
  std::string spaces(kMaxCheckpointBytes + 1, ' ');
  ASSERT_TRUE(write_file_atomically(file, spaces, 0600, false));
  EXPECT_EQ(read().error().code, Code::kOutOfRange);
}

}  // namespace
}  // namespace cardcage
