#include "host/rpc/grpc_server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <future>
#include <optional>

#include "host/rpc/unary_call.h"
#include "kubelet/registration/v1/api.grpc.pb.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/live_core.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Client = grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer>;

class RegistrationService final : public pluginregistration::Registration::CallbackService {
 public:
  std::atomic<Duration> time_left = Duration::min();

 private:
  grpc::ServerUnaryReactor* NotifyRegistrationStatus(grpc::CallbackServerContext* context,
                                                     const pluginregistration::RegistrationStatus*,
                                                     pluginregistration::RegistrationStatusResponse*) override {
    time_left = time_to_respond(*context, 1min);
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
    context.set_deadline(deadline);
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
  gpr_timespec deadline = gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_seconds(5, GPR_TIMESPAN));
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

TEST_F(GrpcServerTest, TellsHowMuchTimeIsLeft) {
  EXPECT_TRUE(notify(failed_with("soon")).ok());
  EXPECT_LT(service.time_left.load(), 5s);
  EXPECT_GT(service.time_left.load(), 3s);
  deadline = gpr_inf_future(GPR_CLOCK_REALTIME);
  EXPECT_TRUE(notify(failed_with("never")).ok());
  EXPECT_EQ(service.time_left.load(), 1min);
}

// gRPC's own clients shorten such a timeout, so these are the bytes of another peer.
TEST_F(GrpcServerTest, NoDeadlineIsTooFarAwayToCompute) {
  const auto frame = [](char type, char flags, char stream, const std::string& content) {
    return std::string{0, 0, static_cast<char>(content.size()), type, flags, 0, 0, 0, stream} + content;
  };
  const auto text = [](const std::string& value) { return static_cast<char>(value.size()) + value; };
  const auto header = [&](const std::string& name, const std::string& value) {
    return std::string(1, 0) + text(name) + text(value);
  };
  const std::string headers = header(":method", "POST") + header(":scheme", "http") + header(":authority", "x") +
                              header(":path", "/pluginregistration.Registration/NotifyRegistrationStatus") +
                              header("te", "trailers") + header("content-type", "application/grpc") +
                              header("grpc-timeout", "99999999H");
  const std::string call = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, "") + frame(1, 4, 1, headers) +
                           frame(0, 1, 1, std::string(5, 0));
  auto [ours, theirs] = connected_pair();
  ASSERT_EQ(::send(ours.get(), call.data(), call.size(), 0), static_cast<ssize_t>(call.size()));
  adopt(std::move(theirs));
  EXPECT_TRUE(eventually([&] { return service.time_left.load() != Duration::min(); }));
  EXPECT_EQ(service.time_left.load(), 1min);
}

TEST_F(GrpcServerTest, ClosesAConnectionThatStaysSilentOrStopsInItsPreface) {
  char byte = 0;
  for (const std::string said : {"", "P", "PRI * HTTP/2.0\r\n"}) {
    auto [ours, theirs] = connected_pair();
    ASSERT_EQ(::send(ours.get(), said.data(), said.size(), 0), static_cast<ssize_t>(said.size()));
    adopt(std::move(theirs), 50ms);
    ssize_t got = -1;
    EXPECT_TRUE(eventually([&] { return (got = ::recv(ours.get(), &byte, 1, 0)) >= 0; }));
    EXPECT_EQ(got, 0) << "the end of the stream, and nothing before it";
  }
}

TEST_F(GrpcServerTest, ForgetsAPeerThatCloses) {
  for (const std::string said : {"", "P"}) {
    auto [ours, theirs] = connected_pair();
    const int descriptor = theirs.get();
    ASSERT_EQ(::send(ours.get(), said.data(), said.size(), 0), static_cast<ssize_t>(said.size()));
    adopt(std::move(theirs));
    ours = UniqueFd();
    EXPECT_TRUE(eventually([&] { return ::fcntl(descriptor, F_GETFD) == -1; }));
  }
}

TEST_F(GrpcServerTest, WaitsForAPrefaceThatComesInPieces) {
  auto [ours, theirs] = connected_pair();
  adopt(std::move(theirs));
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string("\0\0\0\4\0\0\0\0\0", 9);
  for (const char byte : preface) {
    ASSERT_EQ(::send(ours.get(), &byte, 1, 0), 1);
    std::this_thread::sleep_for(1ms);
  }
  char answer = 0;  // the first byte of the server's settings
  EXPECT_TRUE(eventually([&] { return ::recv(ours.get(), &answer, 1, 0) == 1; }));
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
