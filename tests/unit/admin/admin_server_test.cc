#include "host/admin/admin_server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atomic>
#include <cstring>
#include <future>
#include <limits>

#include "cardcage/admin.grpc.pb.h"
#include "host/core/unique_fd.h"
#include "host/core/version.h"
#include "tests/fakes/admin_fixture.h"

namespace cardcage {
namespace {

namespace wire = admin::v1;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

class AdminServerTest : public AdminFixture {
 protected:
  std::unique_ptr<wire::Admin::Stub> connect() {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return wire::Admin::NewStub(
        grpc::CreateCustomChannel("unix:" + socket.native(), grpc::InsecureChannelCredentials(), arguments));
  }
  static void set_deadline(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + 5s);
  }
  template <class Request, class Response>
  grpc::Status call(grpc::Status (wire::Admin::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response& response) {
    grpc::ClientContext context;
    set_deadline(context);
    return (connect().get()->*method)(&context, request, &response);
  }
};

TEST_F(AdminServerTest, ReportsTheStatusOfTheDaemon) {
  wire::GetStatusResponse status;
  const auto result = call(&wire::Admin::Stub::GetStatus, {}, status);
  ASSERT_TRUE(result.ok()) << result.error_message();
  EXPECT_EQ(status.version(), version());
  EXPECT_EQ(status.node(), "node1");
  EXPECT_EQ(status.pid(), ::getpid());
  EXPECT_EQ(status.uptime_seconds(), 26 * 3600);
  EXPECT_EQ(status.restarts(), 0);
  EXPECT_EQ(status.started().seconds(), 1'800'000'000LL - 26 * 3600);
  EXPECT_EQ(status.api_server().state(), "connected");
  EXPECT_EQ(status.api_server().level(), "good");
  ASSERT_EQ(status.drivers_size(), 2);
  EXPECT_EQ(status.drivers(0).registration().state(), "registered");
  EXPECT_EQ(status.drivers(1).registration().level(), "in progress");
  EXPECT_EQ(status.drivers(1).registration().detail(), "its modules have not listed a device yet");
  EXPECT_EQ(status.resources(0).way(), "kubelet");
  EXPECT_EQ(status.warnings_size(), 1);
}

TEST_F(AdminServerTest, ListsModulesWithOptionsButNoSecrets) {
  wire::ListModulesResponse list;
  ASSERT_TRUE(call(&wire::Admin::Stub::ListModules, {}, list).ok());
  ASSERT_EQ(list.modules_size(), 2);
  const auto& mock = list.modules(0);
  EXPECT_EQ(mock.abi(), "1.0");
  ASSERT_EQ(mock.options_size(), 5);
  EXPECT_EQ(mock.options(0).value().number_value(), 2);
  EXPECT_TRUE(mock.options(0).given());
  EXPECT_EQ(mock.options(2).name(), "token");
  EXPECT_TRUE(mock.options(2).given());
  EXPECT_FALSE(mock.options(2).has_value());
  EXPECT_THAT(list.SerializeAsString(), ::testing::Not(HasSubstr("very-secret")));
  EXPECT_EQ(mock.options(4).value().list_value().values(1).string_value(), "b");
  EXPECT_EQ(mock.params(0).fields(0).name(), "profile");
  EXPECT_EQ(list.modules(1).id(), "");
  EXPECT_EQ(list.modules(1).state().state(), "backing off");
  EXPECT_EQ(list.modules(1).state().level(), "bad");
  EXPECT_EQ(mock.options(0).type(), wire::Option::integer);
}

TEST_F(AdminServerTest, ListsDevicesWithTheirHolders) {
  wire::ListDevicesResponse list;
  ASSERT_TRUE(call(&wire::Admin::Stub::ListDevices, {}, list).ok());
  ASSERT_EQ(list.devices_size(), 3);
  const auto& gpu = list.devices(0);
  EXPECT_EQ(gpu.attributes().at("model").string_value(), "Größe XL");
  EXPECT_EQ(gpu.attributes().at("driverVersion").string_value(), "1.2.3");
  EXPECT_EQ(gpu.attributes().at("lanes").list_value().values_size(), 2);
  EXPECT_EQ(gpu.capacity().at("memory"), "32");
  EXPECT_EQ(gpu.holders(0).name(), "training");
  EXPECT_EQ(list.devices(1).health().state(), "unhealthy");
  EXPECT_EQ(list.devices(1).health().level(), "bad");
  EXPECT_EQ(list.devices(1).health().taint(), "NoSchedule");
  ASSERT_EQ(list.devices(1).health().causes_size(), 4);
  const wire::Cause& ecc = list.devices(1).health().causes(1);
  EXPECT_EQ(ecc.name(), "Ecc");
  EXPECT_EQ(ecc.state(), "unhealthy");
  EXPECT_EQ(ecc.message(), "bank 3");
  EXPECT_EQ(ecc.reason(), "RowRemapFailure");
  EXPECT_EQ(ecc.taint(), "Inform");
  EXPECT_EQ(ecc.taint_key(), "mock.cardcage.dev/ecc");
  EXPECT_GT(ecc.since().seconds(), 0);
  EXPECT_EQ(list.devices(1).health().causes(2).level(), "good");
  EXPECT_EQ(list.devices(2).driver(), "");
}

TEST_F(AdminServerTest, AnIntegerThatADoubleCannotHoldIsAText) {
  stop();
  Attributes& attributes = daemon.device_reports[0].device.attributes;
  attributes["exact"] = std::int64_t{1} << 53;
  attributes["larger"] = (std::int64_t{1} << 53) + 1;
  start();
  wire::ListDevicesResponse list;
  ASSERT_TRUE(call(&wire::Admin::Stub::ListDevices, {}, list).ok());
  EXPECT_EQ(list.devices(0).attributes().at("exact").number_value(), 9007199254740992.0);
  EXPECT_EQ(list.devices(0).attributes().at("larger").string_value(), "9007199254740993");
}

TEST_F(AdminServerTest, ListsClaimsAndHistory) {
  wire::ListClaimsResponse claims;
  ASSERT_TRUE(call(&wire::Admin::Stub::ListClaims, {}, claims).ok());
  ASSERT_EQ(claims.claims_size(), 3);
  EXPECT_EQ(claims.claims(0).state(), "prepared");
  EXPECT_EQ(claims.claims(0).modules(0), "mock");
  EXPECT_EQ(claims.claims(0).devices(0).requests(0), "main");
  EXPECT_THAT(claims.claims(0).devices(0).cdi_device_ids(0), ::testing::EndsWith("=uid-1-gpu-0"));
  ASSERT_EQ(claims.claims(2).holders_size(), 2) << "the holder is a resource";
  EXPECT_EQ(claims.claims(2).holders(0).pod(), "encoder");

  wire::ListHistoryRequest request;
  request.set_claim("default/yesterday");
  request.set_since(5'000);
  wire::ListHistoryResponse history;
  ASSERT_TRUE(call(&wire::Admin::Stub::ListHistory, request, history).ok());
  ASSERT_EQ(history.entries_size(), 1);
  EXPECT_EQ(history.entries(0).held_seconds(), 3570);
  stop();
  EXPECT_EQ(daemon.last_asked.claim, "default/yesterday");
  EXPECT_EQ(daemon.last_asked.since, WallTime(5s));
  EXPECT_EQ(daemon.last_asked.limit, 100);
}

TEST_F(AdminServerTest, ListsWhatClaimsMayName) {
  stop();
  daemon.catalogue_reports.front().catalogue.left_out = {2, "catalogue entry '\xff': why"};
  daemon.catalogue_reports.push_back({.module = "nic", .problem = "module 'nic' is backing off"});
  start();
  wire::ListCatalogueRequest request;
  wire::ListCatalogueResponse list;
  const auto result = call(&wire::Admin::Stub::ListCatalogue, request, list);
  ASSERT_TRUE(result.ok()) << result.error_message();
  ASSERT_EQ(list.modules_size(), 2);
  const wire::ModuleCatalogue& mock = list.modules(0);
  ASSERT_EQ(mock.entries_size(), 2);
  EXPECT_EQ(mock.entries(0).kind(), "bitstream");
  EXPECT_EQ(mock.entries(0).name(), "aes-256");
  EXPECT_EQ(mock.entries(0).state(), "usable");
  EXPECT_EQ(mock.entries(0).attributes().at("clocks").list_value().values(1).number_value(), 500);
  EXPECT_EQ(mock.entries(0).attributes().at("shell").string_value(), "1.2.3");
  EXPECT_EQ(mock.entries(1).state(), "refused");
  EXPECT_EQ(mock.entries(1).detail(), "manifest 'old.toml': key 'part' is missing; add it");
  EXPECT_EQ(mock.left_out(), 2u);
  EXPECT_EQ(mock.first_left_out(), "catalogue entry '?': why");
  EXPECT_EQ(mock.problem(), "");
  EXPECT_EQ(list.modules(1).problem(), "module 'nic' is backing off");
  request.set_module("nic");
  ASSERT_TRUE(call(&wire::Admin::Stub::ListCatalogue, request, list).ok());
  EXPECT_EQ(list.modules_size(), 1);
}

TEST_F(AdminServerTest, NumbersInAQueryOfTheHistoryAreBounded) {
  wire::ListHistoryRequest request;
  request.set_limit(4'000'000'000u);
  request.set_since(std::numeric_limits<std::int64_t>::max());
  wire::ListHistoryResponse history;
  ASSERT_TRUE(call(&wire::Admin::Stub::ListHistory, request, history).ok());
  stop();
  EXPECT_EQ(daemon.last_asked.limit, 10'000);
  EXPECT_GT(daemon.last_asked.since, std::chrono::system_clock::now()) << "no claim is newer";
}

TEST_F(AdminServerTest, CommandsReachTheDaemon) {
  wire::ModuleCommandRequest request;
  request.set_module("mock");
  request.set_by("alice");
  request.set_reason("driver 580");
  wire::ModuleCommandResponse response;
  const auto send = [&](auto method) {
    const auto result = call(method, request, response);
    EXPECT_TRUE(result.ok()) << result.error_message();
    EXPECT_EQ(response.state().state(), "done");
    return daemon.last_command().verb;
  };
  EXPECT_EQ(send(&wire::Admin::Stub::ResumeModule), ModuleVerb::kResume);
  EXPECT_EQ(send(&wire::Admin::Stub::RestartModule), ModuleVerb::kRestart);
  EXPECT_EQ(send(&wire::Admin::Stub::QuiesceModule), ModuleVerb::kQuiesce);
  EXPECT_EQ(daemon.last_command().module, "mock");
  EXPECT_EQ(daemon.last_command().by, "alice");
  EXPECT_EQ(daemon.last_command().reason, "driver 580");
  EXPECT_EQ(daemon.last_command().limit, 30s);
  request.set_limit_ms(1'000'000'000'000'000);
  send(&wire::Admin::Stub::QuiesceModule);
  EXPECT_EQ(daemon.last_command().limit, 10min) << "no command waits forever";
}

TEST_F(AdminServerTest, ReturnsTheErrorsOfTheDaemon) {
  stop();
  daemon.failure = {Code::kUnavailable, "the ledger is being rebuilt"};
  start();
  wire::ListHistoryResponse history;
  const auto result = call(&wire::Admin::Stub::ListHistory, {}, history);
  EXPECT_EQ(result.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(result.error_message(), "the ledger is being rebuilt");
}

TEST_F(AdminServerTest, InvalidUtf8IsReplacedInResponses) {
  stop();
  daemon.status_report.config_file = "/etc/\xff\xfe.toml";
  daemon.status_report.api_server.text = "\x80 refused";
  start();
  wire::GetStatusResponse status;
  const auto result = call(&wire::Admin::Stub::GetStatus, {}, status);
  ASSERT_TRUE(result.ok()) << result.error_message();
  EXPECT_EQ(status.config().file(), "/etc/??.toml");
}

TEST_F(AdminServerTest, OnlyRootAndTheDaemonsUserMayAsk) {
  EXPECT_TRUE(may_administer(0, 1000));
  EXPECT_TRUE(may_administer(1000, 1000));
  EXPECT_FALSE(may_administer(1001, 1000));
  EXPECT_FALSE(may_administer(1000, 0));
}

TEST_F(AdminServerTest, OnlyTheOwnerCanOpenTheSocketAndItsFolder) {
  struct stat about{};
  ASSERT_EQ(::stat(socket.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(socket.parent_path().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700u);
}

// A process of user nobody connects, as the file modes allow here, and gets the end of the stream.
TEST_F(AdminServerTest, ThePeerCheckAloneRejectsOtherUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(socket.parent_path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(socket.c_str(), 0666), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket.c_str(), sizeof address.sun_path - 1);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {  // only system calls from here on: other threads may have held locks
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(10);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) ::_exit(11);
    const timeval timeout{.tv_sec = 5, .tv_usec = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    char byte = 0;
    ::_exit(::recv(fd, &byte, 1, 0) == 0 ? 0 : 12);  // a gRPC server would send its settings first
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(AdminServerTest, StoppingRemovesTheSocketAndEndsOpenConnections) {
  const auto stub = connect();
  wire::GetStatusResponse status;
  grpc::ClientContext first;
  ASSERT_TRUE(stub->GetStatus(&first, {}, &status).ok());
  stop();
  EXPECT_FALSE(std::filesystem::exists(socket));
  grpc::ClientContext second;
  set_deadline(second);
  EXPECT_EQ(stub->GetStatus(&second, {}, &status).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(AdminServerTest, ListensAgainAfterItsFolderWasRemoved) {
  std::filesystem::remove_all(socket.parent_path());
  std::promise<Status> restored;
  asio::post(core, [&] { restored.set_value(server->restore()); });
  ASSERT_TRUE(restored.get_future().get());
  wire::GetStatusResponse status;
  const auto result = call(&wire::Admin::Stub::GetStatus, {}, status);
  EXPECT_TRUE(result.ok()) << result.error_message();
}

TEST_F(AdminServerTest, StoppingWaitsForCallsInFlight) {
  const auto stub = connect();
  std::promise<void> release, blocked;
  asio::post(core, [&] {
    blocked.set_value();
    release.get_future().wait();
    spawn(core, stop_server(*this));  // before the call, which waits for this thread
  });
  blocked.get_future().wait();
  wire::GetStatusResponse status;
  grpc::ClientContext context;
  set_deadline(context);
  std::promise<grpc::Status> result;
  const wire::GetStatusRequest request;
  stub->async()->GetStatus(&context, &request, &status, [&](grpc::Status s) { result.set_value(std::move(s)); });
  release.set_value();
  const auto finished = result.get_future().get();
  EXPECT_TRUE(finished.ok() || finished.error_code() == grpc::StatusCode::UNAVAILABLE) << finished.error_message();
  thread.join();
}

TEST_F(AdminServerTest, ASecondDaemonCannotTakeTheSocket) {
  asio::io_context other;
  const Status second = AdminServer(other, clock, socket, daemon).restore();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kAlreadyExists);
  EXPECT_THAT(second.error().message, HasSubstr("admin socket"));
  EXPECT_THAT(second.error().message, HasSubstr("or set node.admin_socket"));
  wire::GetStatusResponse status;
  EXPECT_TRUE(call(&wire::Admin::Stub::GetStatus, {}, status).ok());
}

TEST_F(AdminServerTest, ServesManyCallersAtOnce) {
  std::vector<std::jthread> callers;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 8; ++i)
    callers.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        wire::ListDevicesResponse list;
        if (call(&wire::Admin::Stub::ListDevices, {}, list).ok() && list.devices_size() == 3) ++answered;
      }
    });
  callers.clear();
  EXPECT_EQ(answered, 80);
}

TEST_F(AdminServerTest, SurvivesGarbageOnTheSocket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket.c_str(), sizeof address.sun_path - 1);
  for (int i = 0; i < 5; ++i) {
    const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const std::string garbage(static_cast<std::size_t>(i) * 1000, '\xff');
    EXPECT_EQ(::send(fd.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL), static_cast<ssize_t>(garbage.size()));
  }
  wire::GetStatusResponse status;
  EXPECT_TRUE(call(&wire::Admin::Stub::GetStatus, {}, status).ok());
}

}  // namespace
}  // namespace cardcage
