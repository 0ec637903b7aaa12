#include "tests/fakes/fake_nri_runtime.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/write.hpp>

#include "ttrpc/ttrpc.pb.h"

namespace cardcage {

api::nri::PodSandbox nri_pod(const std::string& name, const std::string& network_namespace) {
  api::nri::PodSandbox pod;
  pod.set_id("sandbox-" + name);
  pod.set_name(name);
  pod.set_uid("uid-" + name);
  pod.set_namespace_("default");
  pod.mutable_linux()->add_namespaces()->set_type("pid");
  if (network_namespace.empty()) return pod;
  auto* network = pod.mutable_linux()->add_namespaces();
  network->set_type("network");
  network->set_path(network_namespace);
  return pod;
}

void FakeNriRuntime::listen() {
  auto accepted = [this](UniqueFd fd) {
    hang_up();
    connection_ = std::make_shared<Connection>(core_);
    connection_->socket.assign(asio::local::stream_protocol(), fd.release());
    ++connections;
    next_stream_ = 1;
    spawn(core_, serve(connection_));
  };
  auto opened = SocketListener::open(core_, socket_, 0700, std::move(accepted));
  ASSERT_TRUE(opened) << opened.error().message;
  listener_ = std::move(*opened);
}

void FakeNriRuntime::hang_up() {
  if (!connection_) return;
  connection_->open = false;
  connection_->socket.close();
  connection_.reset();
}

Task<void> FakeNriRuntime::serve(std::shared_ptr<Connection> connection) {
  std::vector<char> piece(1u << 16);
  while (connection->open) {
    boost::system::error_code failed;
    const std::size_t size = co_await connection->socket.async_read_some(
        asio::buffer(piece), asio::redirect_error(asio::use_awaitable, failed));
    if (!connection->open || is_deaf) co_return;
    if (failed) {
      hang_up();
      co_return;
    }
    const Demultiplexer::Take take_bytes = [&](Channel channel, std::string_view bytes) -> Status {
      take(*connection, channel, bytes);
      return {};
    };
    EXPECT_TRUE(connection->demultiplexer.read({piece.data(), size}, take_bytes));
  }
}

void FakeNriRuntime::take(Connection& connection, Channel channel, std::string_view bytes) {
  TtrpcReader& reader = channel == Channel::kRuntime ? connection.calls : connection.responses;
  reader.append(bytes);
  while (connection.open) {
    const auto frame = reader.next();
    ASSERT_TRUE(frame) << frame.error().message;
    if (!*frame) return;
    channel == Channel::kRuntime ? take_call(**frame) : take_response(**frame);
  }
}

void FakeNriRuntime::take_call(const TtrpcFrame& frame) {
  ttrpc::Request request;
  ASSERT_TRUE(request.ParseFromString(frame.message));
  EXPECT_EQ(frame.stream % 2, 1u);
  EXPECT_EQ(request.service(), kNriRuntimeService);
  EXPECT_EQ(request.method(), "RegisterPlugin");
  registered.emplace();
  EXPECT_TRUE(registered->ParseFromString(request.payload()));
  if (is_silent) return;
  ttrpc::Response response;
  if (!refusal.empty()) {
    response.mutable_status()->set_code(2);
    response.mutable_status()->set_message(refusal);
  }
  TtrpcFrame reply;
  reply.stream = frame.stream;
  reply.type = TtrpcFrame::Type::kResponse;
  reply.message = response.SerializeAsString();
  send_raw(multiplex(Channel::kRuntime, *encode_ttrpc_frame(reply)));
  if (refusal.empty()) configure();
}

void FakeNriRuntime::configure() {
  api::nri::ConfigureRequest request;
  request.set_runtime_name("containerd");
  request.set_runtime_version("v2.2.9");
  request.set_request_timeout(request_timeout);
  configuring_ = call(kNriPluginService, "Configure", request.SerializeAsString());
}

void FakeNriRuntime::synchronize() {
  api::nri::SynchronizeRequest request;
  const int end = std::min(told_ + pods_per_part, static_cast<int>(pods.size()));
  for (; told_ < end; ++told_) *request.add_pods() = pods[static_cast<std::size_t>(told_)];
  request.set_more(told_ < static_cast<int>(pods.size()));
  synchronizing_ = call(kNriPluginService, "Synchronize", request.SerializeAsString());
}

void FakeNriRuntime::take_response(const TtrpcFrame& frame) {
  ttrpc::Response response;
  ASSERT_TRUE(response.ParseFromString(frame.message));
  EXPECT_EQ(frame.type, TtrpcFrame::Type::kResponse);
  if (response.status().code() == 0)
    responses.insert_or_assign(frame.stream, response.payload());
  else
    responses.insert_or_assign(
        frame.stream, std::unexpected(Error{static_cast<Code>(response.status().code()), response.status().message()}));
  if (frame.stream == configuring_) {
    EXPECT_TRUE(configured.emplace().ParseFromString(response.payload()));
    told_ = 0;
    synchronize();
  } else if (frame.stream == synchronizing_) {
    EXPECT_TRUE(synchronized.emplace_back().ParseFromString(response.payload()));
    if (synchronized.back().more()) synchronize();
  }
}

std::uint32_t FakeNriRuntime::state_change(int event, const api::nri::PodSandbox& pod,
                                           std::optional<std::chrono::nanoseconds> timeout) {
  api::nri::StateChangeEvent change;
  change.set_event(static_cast<api::nri::Event>(event));
  *change.mutable_pod() = pod;
  return call(kNriPluginService, "StateChange", change.SerializeAsString(), timeout);
}

std::uint32_t FakeNriRuntime::call(const std::string& service, const std::string& method, const std::string& payload,
                                   std::optional<std::chrono::nanoseconds> timeout) {
  ttrpc::Request request;
  request.set_service(service);
  request.set_method(method);
  request.set_payload(payload);
  if (timeout) request.set_timeout_nano(timeout->count());
  TtrpcFrame frame;
  frame.stream = std::exchange(next_stream_, next_stream_ + 2);
  frame.message = request.SerializeAsString();
  responses.erase(frame.stream);
  send_raw(multiplex(Channel::kPlugin, *encode_ttrpc_frame(frame)));
  return frame.stream;
}

// The tests send less than the kernel's socket buffer holds, so nothing blocks.
void FakeNriRuntime::send_raw(const std::string& bytes) {
  if (!connection_) return;
  boost::system::error_code failed;
  asio::write(connection_->socket, asio::buffer(bytes), failed);
}

}  // namespace cardcage
