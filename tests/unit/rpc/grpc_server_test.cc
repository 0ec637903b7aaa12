#include "host/rpc/grpc_server.h"

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <sys/socket.h>

#include <array>
#include <future>
#include <optional>

#include "host/rpc/unary_call.h"
#include "kubelet/registration/v1/api.grpc.pb.h"
#include "tests/fakes/live_core.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Client = grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer>;

class RegistrationService final : public pluginregistration::Registration::CallbackService {
  grpc::ServerUnaryReactor* NotifyRegistrationStatus(grpc::CallbackServerContext* context,
                                                     const pluginregistration::RegistrationStatus*,
                                                     pluginregistration::RegistrationStatusResponse*) override {
    return finish_at_once(*context, grpc::Status::OK);
  }
};

std::pair<UniqueFd, UniqueFd> connected_pair() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

class GrpcServerTest : public ::testing::Test {
 protected:
  void TearDown() override {
    live.run([](GrpcServer& s, asio::io_context& core) -> Task<bool> {
      co_await s.stop(core, 1s);
      co_return true;
    }(server, live.context()));
  }
  void adopt(UniqueFd connection, Duration silence = 1min) {
    live.call([&] { server.adopt(live.context(), std::move(connection), silence); });
  }
  grpc::Status notify(const std::string& bytes, std::optional<grpc_compression_algorithm> compression = {},
                      const std::string& method = "NotifyRegistrationStatus") {
    auto [ours, theirs] = connected_pair();
    adopt(std::move(theirs));
    Client client(grpc::CreateInsecureChannelFromFd("server", ours.release()));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 5s);
    if (compression) context.set_compression_algorithm(*compression);
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> ended;
    client.UnaryCall(&context, "/pluginregistration.Registration/" + method, {}, &request, &response,
                     [&](grpc::Status status) { ended.set_value(std::move(status)); });
    return ended.get_future().get();
  }
  static std::string failed_with(const std::string& text) {
    pluginregistration::RegistrationStatus status;
    status.set_error(text);
    return status.SerializeAsString();
  }

  LiveCore live;
  RegistrationService service;
  GrpcServer server{std::array<grpc::Service* const, 1>{&service}};
};

TEST_F(GrpcServerTest, RefusesCompressedRequestsWithoutDecompressingThem) {
  EXPECT_TRUE(notify(failed_with("plain")).ok());
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    const auto refused = notify(failed_with(std::string(500'000, 'x')), algorithm);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNIMPLEMENTED) << refused.error_message();
    EXPECT_THAT(refused.error_message(), HasSubstr("ompression"));
  }
}

TEST_F(GrpcServerTest, SaysThatARequestCannotBeDecoded) {
  const auto refused = notify("\xff\xff\xff");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(refused.error_message(), "the request is not the message that this method takes");
  EXPECT_EQ(notify("", {}, "GetInfo").error_code(), grpc::StatusCode::UNIMPLEMENTED) << "a method without a body";
  EXPECT_EQ(notify("", {}, "Nothing").error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(GrpcServerTest, ClosesAConnectionThatStaysSilent) {
  auto [ours, theirs] = connected_pair();
  adopt(std::move(theirs), 50ms);
  char byte = 0;
  const auto end = std::chrono::steady_clock::now() + 5s;
  ssize_t got = -1;
  while ((got = ::recv(ours.get(), &byte, 1, 0)) < 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(5ms);
  EXPECT_EQ(got, 0) << "the end of the stream, and nothing before it";
}

TEST_F(GrpcServerTest, StoppingClosesSilentConnections) {
  auto [ours, theirs] = connected_pair();
  adopt(std::move(theirs));
  live.run([](GrpcServer& s, asio::io_context& core) -> Task<bool> {
    co_await s.stop(core, 1s);
    co_return true;
  }(server, live.context()));
  char byte = 0;
  EXPECT_EQ(::recv(ours.get(), &byte, 1, 0), 0);
}

}  // namespace
}  // namespace cardcage
