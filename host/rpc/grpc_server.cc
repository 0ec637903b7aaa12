#include "host/rpc/grpc_server.h"

#include <poll.h>
#include <sys/socket.h>

#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <climits>
#include <thread>

#include "host/rpc/grpc_library.h"
#include "host/rpc/request_decoding.h"

namespace cardcage {
namespace {

constexpr int kMaxStreamsPerConnection = 256;  // the caller queues the others
// Far more than these streams need: gRPC drops connections when it runs out.
constexpr std::size_t kQuotaBytes = 64u << 20;
constexpr std::size_t kPrefaceBytes = 24;  // RFC 9113, section 3.4
constexpr std::chrono::milliseconds kPrefacePause{20};

std::unique_ptr<grpc::Server> build(std::span<grpc::Service* const> services, int max_request_bytes) {
  hold_grpc();
  grpc::ServerBuilder builder;
  for (grpc::Service* service : services) builder.RegisterService(service);
  builder.SetMaxReceiveMessageSize(max_request_bytes);
  builder.SetResourceQuota(grpc::ResourceQuota("cardcage").Resize(kQuotaBytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, INT_MAX);  // a stopped kubelet keeps its connection
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);   // and may ping as often as it likes
  // No caller compresses. gRPC would decompress a request of any size before it compares the result with the limit.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  explain_undecodable_requests(builder);
  return builder.BuildAndStart();
}

// Peeks at the bytes, which stay in the socket.
bool has_preface(int socket) {
  std::array<char, kPrefaceBytes> bytes;
  return ::recv(socket, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT) == static_cast<ssize_t>(bytes.size());
}

bool is_closed_by_peer(int socket) {
  pollfd state{.fd = socket, .events = POLLRDHUP, .revents = 0};
  return ::poll(&state, 1, 0) != 0;
}

}  // namespace

GrpcServer::GrpcServer(std::span<grpc::Service* const> services, int max_request_bytes)
    : server_(build(services, max_request_bytes)) {}

GrpcServer::~GrpcServer() { drop_silent_peers(); }

// A connection before the preface of HTTP/2. gRPC itself would wait for the rest of it forever.
struct GrpcServer::SilentPeer {
  SilentPeer(asio::io_context& core, grpc::Server* to, UniqueFd connection, Duration silence)
      : server(to), socket(core, connection.release()), limit(core, silence) {}
  grpc::Server* server;  // null once the server no longer wants it
  asio::posix::stream_descriptor socket;
  asio::steady_timer limit;
};

void GrpcServer::adopt(asio::io_context& core, UniqueFd connection, Duration silence) {
  std::erase_if(silent_peers_, [](const auto& peer) { return peer.expired(); });
  const auto peer = std::make_shared<SilentPeer>(core, server_.get(), std::move(connection), silence);
  silent_peers_.push_back(peer);
  spawn(core, adopt_after_preface(peer));
}

Task<void> GrpcServer::adopt_after_preface(std::shared_ptr<SilentPeer> peer) {
  peer->limit.async_wait([peer](const boost::system::error_code& cancelled) {
    boost::system::error_code ignored;
    if (!cancelled) peer->socket.close(ignored);
  });
  boost::system::error_code closed;
  co_await peer->socket.async_wait(asio::posix::stream_descriptor::wait_read,
                                   asio::redirect_error(asio::use_awaitable, closed));
  asio::steady_timer pause(peer->socket.get_executor());
  while (!closed && !has_preface(peer->socket.native_handle())) {
    pause.expires_after(kPrefacePause);
    co_await pause.async_wait(asio::use_awaitable);
    if (!peer->socket.is_open() || is_closed_by_peer(peer->socket.native_handle())) closed = asio::error::eof;
  }
  peer->limit.cancel();
  if (!closed && peer->server) grpc::AddInsecureChannelFromFd(peer->server, peer->socket.release());
}

void GrpcServer::drop_silent_peers() {
  for (const auto& entry : std::exchange(silent_peers_, {})) {
    const auto peer = entry.lock();
    if (!peer) continue;
    peer->server = nullptr;
    boost::system::error_code ignored;
    peer->socket.close(ignored);
  }
}

Task<void> GrpcServer::stop(asio::io_context& core, Duration grace) {
  drop_silent_peers();
  const OneShot<bool> done(core);
  const auto deadline = std::chrono::system_clock::now() + grace;
  // Shutdown blocks until the open calls end, and the core has to end them.
  const std::jthread shutdown([this, deadline, done] {
    server_->Shutdown(deadline);
    done.set(true);
  });
  co_await done.wait();
}

}  // namespace cardcage
