// Admin.Watch: the counters of changes.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>

#include <future>

#include "cardcage/admin.grpc.pb.h"
#include "tests/fakes/admin_fixture.h"

namespace cardcage {
namespace {

namespace wire = admin::v1;

class WatchTest : public AdminFixture {
 protected:
  void SetUp() override {
    AdminFixture::SetUp();
    stub = wire::Admin::NewStub(grpc::CreateChannel("unix:" + socket.native(), grpc::InsecureChannelCredentials()));
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    stream = stub->Watch(&context, {});
  }
  void TearDown() override {
    context.TryCancel();
    wire::WatchEvent ignored;
    while (stream->Read(&ignored)) {
    }
    stream->Finish();
    AdminFixture::TearDown();
  }
  wire::WatchEvent read() {
    wire::WatchEvent event;
    EXPECT_TRUE(stream->Read(&event));
    return event;
  }
  void note(std::initializer_list<Section> sections, int times = 1) {
    std::promise<void> done;
    asio::post(core, [&] {
      for (int i = 0; i < times; ++i) daemon.changes().note(sections);
      done.set_value();
    });
    done.get_future().wait();
  }

  std::unique_ptr<wire::Admin::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<wire::WatchEvent>> stream;
};

TEST_F(WatchTest, CountsTheChangesOfEachSection) {
  const wire::WatchEvent first = read();
  note({Section::kDevices, Section::kHealth});
  const wire::WatchEvent second = read();
  EXPECT_EQ(second.devices(), first.devices() + 1);
  EXPECT_EQ(second.health(), first.health() + 1);
  EXPECT_EQ(second.claims(), first.claims());
  EXPECT_EQ(second.history(), first.history());
  EXPECT_EQ(second.modules(), first.modules());
  note({Section::kClaims, Section::kHistory});
  const wire::WatchEvent third = read();
  EXPECT_EQ(third.claims(), second.claims() + 1);
  EXPECT_EQ(third.history(), second.history() + 1);
}

TEST_F(WatchTest, CombinesChangesThatFollowSoon) {
  const std::uint32_t before = read().devices();
  int events = 0;
  const auto begin = std::chrono::steady_clock::now();
  std::uint32_t now = before;
  note({Section::kDevices}, 1000);
  for (; now < before + 1000; ++events) now = read().devices();
  const auto paces = (std::chrono::steady_clock::now() - begin) / std::chrono::milliseconds(100);
  EXPECT_LE(events, paces + 1);
}

TEST_F(WatchTest, SeesWhatNoEventTells) {
  const wire::WatchEvent first = read();
  asio::post(core, [&] { daemon.status_report.api_server = {Level::kBad, "unreachable", ""}; });
  wire::WatchEvent event = read();
  EXPECT_GT(event.status(), first.status());
  EXPECT_EQ(event.configuration(), first.configuration());
  asio::post(core, [&] { ++daemon.status_report.config.failures; });
  event = read();
  EXPECT_GT(event.configuration(), first.configuration());
  EXPECT_GT(event.health(), first.health()) << "the rules are part of the configuration";
}

TEST_F(WatchTest, EndsWithTheServer) {
  read();
  stop();
  wire::WatchEvent event;
  EXPECT_FALSE(stream->Read(&event));
}

}  // namespace
}  // namespace cardcage
