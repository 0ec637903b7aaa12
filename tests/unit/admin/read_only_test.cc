// The read-only socket serves the methods that admin.proto marks as reads, and refuses all others.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <sys/stat.h>

#include <future>

#include "cardcage/admin.grpc.pb.h"
#include "tests/fakes/admin_fixture.h"

namespace cardcage {
namespace {

namespace wire = admin::v1;
using google::protobuf::MethodDescriptor;
using google::protobuf::MethodOptions;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr gid_t kReaders = 4711;

class ReadOnlySocketTest : public AdminFixture {
 protected:
  std::unique_ptr<AdminServer> make_server() override {
    return std::make_unique<AdminServer>(core, clock, ReadOnlySocket{socket, ::geteuid() == 0 ? kReaders : ::getegid()},
                                         daemon);
  }
  std::shared_ptr<grpc::Channel> connect() const {
    return grpc::CreateChannel("unix:" + socket.native(), grpc::InsecureChannelCredentials());
  }
  // Calls the method with an empty request.
  grpc::Status call(const MethodDescriptor& method) {
    grpc::GenericStub stub(connect());
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    grpc::Slice nothing;
    const grpc::ByteBuffer request(&nothing, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> ended;
    stub.UnaryCall(&context, fmt::format("/{}/{}", method.service()->full_name(), method.name()), {}, &request,
                   &response, [&](grpc::Status status) { ended.set_value(std::move(status)); });
    return ended.get_future().get();
  }
};

TEST_F(ReadOnlySocketTest, RefusesEveryMethodThatIsNotMarkedAsARead) {
  const auto* const service =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName("cardcage.admin.v1.Admin");
  ASSERT_NE(service, nullptr);
  int reads = 0, commands = 0;
  for (int i = 0; i < service->method_count(); ++i) {
    const MethodDescriptor& method = *service->method(i);
    const bool marked = method.options().idempotency_level() == MethodOptions::NO_SIDE_EFFECTS;
    if (method.server_streaming()) {
      EXPECT_TRUE(marked) << method.name() << ": a stream of commands needs a case of its own here";
      continue;
    }
    const grpc::Status status = call(method);
    if (marked) {
      ++reads;
      EXPECT_TRUE(status.ok()) << method.name() << ": " << status.error_message();
    } else {
      ++commands;
      EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << method.name();
      EXPECT_THAT(status.error_message(), AllOf(HasSubstr("this socket only reads"), HasSubstr("node.admin_socket")));
    }
  }
  EXPECT_GE(reads, 8);
  EXPECT_GE(commands, 9);
  stop();
  EXPECT_EQ(daemon.last_command().module, "") << "no command reached the daemon";
}

TEST_F(ReadOnlySocketTest, ItsGroupMayConnect) {
  struct stat about{};
  ASSERT_EQ(::stat(socket.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0660u);
  EXPECT_EQ(about.st_gid, ::geteuid() == 0 ? kReaders : ::getegid());
  ASSERT_EQ(::stat(socket.parent_path().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0755u);
}

TEST_F(ReadOnlySocketTest, ASecondDaemonWaitsForIt) {
  asio::io_context other;
  const Status second = AdminServer(other, clock, ReadOnlySocket{socket, ::getegid()}, daemon).restore();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kAlreadyExists);
  EXPECT_THAT(second.error().message, AllOf(HasSubstr("read-only socket"), HasSubstr("or set node.read_only_socket")));
}

}  // namespace
}  // namespace cardcage
