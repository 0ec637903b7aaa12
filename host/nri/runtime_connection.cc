#include "host/nri/runtime_connection.h"

#include <algorithm>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <utility>
#include <vector>

#include "host/core/utf8.h"
#include "host/rpc/unix_socket.h"
#include "ttrpc/ttrpc.pb.h"

namespace cardcage {
namespace {

constexpr std::size_t kReadSize = 64u << 10;
constexpr std::size_t kMaxUnsent = 1u << 20;      // exceeds the unread data of a runtime that reads
constexpr std::size_t kMaxErrorText = 16u << 10;  // bytes of an error sent to the runtime

constexpr std::int64_t kLongestLimit = std::chrono::nanoseconds(std::chrono::hours(24)).count();

}  // namespace

Result<std::shared_ptr<RuntimeConnection>> RuntimeConnection::open(asio::io_context& core,
                                                                   const std::filesystem::path& socket) {
  const auto address = unix_address(socket);
  if (!address) return std::unexpected(address.error());
  UniqueFd fd = new_unix_socket();
  if (!fd) return fail_errno(errno, "cannot make a socket for the container runtime");
  if (connect_unix(fd, *address) != 0) return fail_errno(errno, fmt::format("cannot connect to '{}'", socket.native()));
  std::shared_ptr<RuntimeConnection> connection(new RuntimeConnection(core));
  connection->socket_.assign(asio::local::stream_protocol(), fd.release());
  return connection;
}

// -- receiving -------------------------------------------------------------------------------------------------------

Task<Error> RuntimeConnection::serve(std::function<void(Call)> called) {
  const auto self = shared_from_this();
  called_ = std::move(called);
  const Demultiplexer::Take take = [this](Channel channel, std::string_view bytes) -> Status {
    switch (channel) {
      case Channel::kPlugin: return take_frames(bytes, plugin_reader_, &RuntimeConnection::take_call);
      case Channel::kRuntime: return take_frames(bytes, runtime_reader_, &RuntimeConnection::take_response);
    }
    return {};
  };
  std::vector<char> piece(kReadSize);
  while (!ended_) {
    boost::system::error_code failed;
    const std::size_t size =
        co_await socket_.async_read_some(asio::buffer(piece), asio::redirect_error(asio::use_awaitable, failed));
    if (failed) close({Code::kUnavailable, "the container runtime has closed the connection"});
    if (ended_) break;
    if (const Status read = demultiplexer_.read({piece.data(), size}, take); !read) close(read.error());
  }
  called_ = {};
  co_return *ended_;
}

Status RuntimeConnection::take_frames(std::string_view bytes, TtrpcReader& reader,
                                      Status (RuntimeConnection::*take)(const TtrpcFrame&)) {
  reader.append(bytes);
  while (!ended_) {
    auto frame = reader.next();
    if (!frame) return std::unexpected(frame.error());
    if (!*frame) break;
    if (auto taken = (this->*take)(**frame); !taken) return taken;
  }
  return {};
}

Status RuntimeConnection::take_call(const TtrpcFrame& frame) {
  if (frame.type != TtrpcFrame::Type::kRequest) return {};
  ttrpc::Request request;
  if (!request.ParseFromString(frame.message))
    return fail(Code::kDataLoss, "{} bytes are not a ttrpc request", frame.message.size());
  Call call;
  call.stream = frame.stream;
  call.service = std::move(*request.mutable_service());
  call.method = std::move(*request.mutable_method());
  call.payload = std::move(*request.mutable_payload());
  if (request.timeout_nano() > 0)
    call.limit = std::chrono::nanoseconds(std::min<std::int64_t>(request.timeout_nano(), kLongestLimit));
  called_(std::move(call));
  return {};
}

Status RuntimeConnection::take_response(const TtrpcFrame& frame) {
  const auto waiting = waiting_.find(frame.stream);
  if (frame.type != TtrpcFrame::Type::kResponse || waiting == waiting_.end()) return {};
  ttrpc::Response response;
  if (!response.ParseFromString(frame.message))
    return fail(Code::kDataLoss, "{} bytes are not a ttrpc response", frame.message.size());
  if (response.status().code() == 0)
    waiting->second.set(std::move(*response.mutable_payload()));
  else
    waiting->second.set(std::unexpected(
        Error{static_cast<Code>(response.status().code()), cut_utf8(response.status().message(), kMaxErrorText)}));
  waiting_.erase(waiting);
  return {};
}

// -- sending ---------------------------------------------------------------------------------------------------------

Task<Result<std::string>> RuntimeConnection::call(Clock& clock, std::string service, std::string method,
                                                  std::string payload, Instant deadline) {
  const auto self = shared_from_this();
  ttrpc::Request request;
  request.set_service(std::move(service));
  request.set_method(std::move(method));
  request.set_payload(std::move(payload));
  request.set_timeout_nano(std::chrono::nanoseconds(deadline - clock.now()).count());
  TtrpcFrame frame;
  frame.stream = std::exchange(next_stream_, next_stream_ + 2);
  frame.type = TtrpcFrame::Type::kRequest;
  frame.message = request.SerializeAsString();
  const OneShot<Result<std::string>> done(core_);
  waiting_.emplace(frame.stream, done);
  send(Channel::kRuntime, frame);
  if (ended_) co_return std::unexpected(*ended_);
  std::optional<Result<std::string>> response = co_await done.wait_until(clock, deadline);
  waiting_.erase(frame.stream);
  if (!response)
    co_return fail(Code::kDeadlineExceeded, "the container runtime does not respond to {}", request.method());
  co_return std::move(*response);
}

void RuntimeConnection::respond(std::uint32_t stream, const Result<std::string>& payload) {
  ttrpc::Response response;
  if (payload) {
    response.set_payload(*payload);
  } else {
    response.mutable_status()->set_code(static_cast<std::int32_t>(payload.error().code));
    response.mutable_status()->set_message(cut_utf8(payload.error().message, kMaxErrorText));
  }
  TtrpcFrame frame;
  frame.stream = stream;
  frame.type = TtrpcFrame::Type::kResponse;
  frame.message = response.SerializeAsString();
  send(Channel::kPlugin, frame);
}

void RuntimeConnection::send(Channel channel, const TtrpcFrame& frame) {
  if (ended_) return;
  const auto bytes = encode_ttrpc_frame(frame);
  if (!bytes) return close(bytes.error());
  if (unsent_bytes_ > kMaxUnsent)
    return close({Code::kResourceExhausted, "the container runtime does not read what it is sent"});
  unsent_.push_back(multiplex(channel, *bytes));
  unsent_bytes_ += unsent_.back().size();
  if (!std::exchange(writing_, true)) spawn(core_, write(shared_from_this()));
}

Task<void> RuntimeConnection::write(std::shared_ptr<RuntimeConnection> self) {
  while (!self->unsent_.empty() && !self->ended_) {
    const std::string pieces = std::move(self->unsent_.front());
    self->unsent_.pop_front();
    boost::system::error_code failed;  // serve() notices the end of the connection
    co_await asio::async_write(self->socket_, asio::buffer(pieces), asio::redirect_error(asio::use_awaitable, failed));
    self->unsent_bytes_ -= pieces.size();
  }
  self->writing_ = false;
}

void RuntimeConnection::close(Error why) {
  if (ended_) return;
  ended_ = std::move(why);
  boost::system::error_code ignored;
  socket_.close(ignored);
  for (auto& [stream, waiting] : waiting_) waiting.set(std::unexpected(*ended_));
  waiting_.clear();
}

}  // namespace cardcage
