#include "web/server/connection.h"

#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "host/core/wakeup.h"
#include "web/server/response_message.h"

namespace cardcage {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using Parser = http::request_parser<http::string_body>;
using TlsStream = asio::ssl::stream<beast::tcp_stream>;

// Limits for reading on after the last response: closing at once could reset the connection and discard it.
constexpr Duration kLingerLimit = std::chrono::seconds(1);
constexpr std::size_t kLingerBytes = 65536;

WebRequest request_of(const http::request<http::string_body>& message, const std::string& client) {
  WebRequest request;
  request.head_only = message.method() == http::verb::head;
  request.method = request.head_only ? "GET" : std::string(message.method_string());
  const std::string target(message.target());
  const std::size_t mark = std::min(target.find('?'), target.size());
  request.path = target.substr(0, mark);
  request.query = target.substr(std::min(mark + 1, target.size()));
  for (const auto& field : message) request.headers.emplace_back(field.name_string(), field.value());
  request.client = client;
  return request;
}

// Returns the response to a request that could not be read; nothing if the peer has gone or is too slow.
std::optional<WebResponse> response_to(const boost::system::error_code& failed) {
  if (failed == http::error::header_limit || failed == http::error::buffer_overflow)
    return text_response(431, "The header of the request is too long.\n");
  if (failed == http::error::body_limit) return text_response(413, "The body of the request is too long.\n");
  if (failed == http::error::end_of_stream || failed == http::error::partial_message) return std::nullopt;
  if (failed.category() == http::make_error_code(http::error::bad_method).category())
    return text_response(400, "This is not a request of HTTP/1.1.\n");
  return std::nullopt;
}

// Stream: a beast::tcp_stream, or a TlsStream over it.
template <class Stream>
class StreamConnection final : public WebConnection, public std::enable_shared_from_this<StreamConnection<Stream>> {
 public:
  StreamConnection(const ConnectionContext& context, Stream stream)
      : context_(context), stream_(std::move(stream)), woken_(std::make_shared<Wakeup>(context.core)) {}

  Task<void> run() override {
    const auto self = this->shared_from_this();
    boost::system::error_code unknown;
    const tcp::endpoint peer = lowest().socket().remote_endpoint(unknown);
    client_ = fmt::format("{}:{}", peer.address().to_string(), peer.port());
    bool more = co_await shake_hands();
    const bool spoke = more;
    while (more) more = co_await serve_one();
    if (spoke) co_await linger();
    close();
  }
  void close() override {
    closed_ = true;
    lowest().close();
    woken_->wake();
  }

 private:
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;
  beast::tcp_stream& lowest() { return beast::get_lowest_layer(stream_); }

  // Returns false if the peer does not speak TLS, or is too slow.
  Task<bool> shake_hands() {
    boost::system::error_code failed;
    if constexpr (kTls) {
      lowest().expires_after(context_.limits.request);
      co_await stream_.async_handshake(TlsStream::server, asio::redirect_error(asio::use_awaitable, failed));
    }
    co_return !failed && !closed_;
  }

  // Returns whether the connection may serve another request.
  Task<bool> serve_one() {
    const bool began = co_await wait_for_request();
    if (!began) co_return false;
    Parser parser;
    parser.header_limit(static_cast<std::uint32_t>(context_.limits.header_bytes));
    parser.body_limit(context_.limits.body_bytes);
    boost::system::error_code failed;
    lowest().expires_after(context_.limits.request);
    co_await http::async_read_header(stream_, buffer_, parser, asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return co_await refuse_unread(failed);
    const bool keep_alive = parser.get().keep_alive();
    WebRequest request = request_of(parser.get(), client_);
    const bool head_only = request.head_only;
    auto handler = co_await context_.handling.admit(request);
    if (closed_) co_return false;
    if (!handler) {
      // A connection without a visitor must not take the place of one with a visitor.
      const bool stays = keep_alive && parser.is_done() && handler.error().status < 400;
      co_return co_await write(std::move(handler.error()), head_only, stays);
    }
    const RequestInProgress in_progress(context_.handling);
    if (!parser.is_done())
      co_await http::async_read(stream_, buffer_, parser, asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return co_await refuse_unread(failed);
    request.body = std::move(parser.get().body());
    Task<WebResponse> work = (*handler)(std::move(request));
    WebResponse response = co_await std::move(work);
    if (closed_) co_return false;
    if (response.events) co_return co_await write_events(std::move(response), head_only);
    co_return co_await write(std::move(response), head_only, keep_alive);
  }

  // Returns false if the peer sends nothing within the limit.
  Task<bool> wait_for_request() {
    if (buffer_.size() > 0) co_return true;
    boost::system::error_code failed;
    lowest().expires_after(served_any_ ? context_.limits.idle : context_.limits.request);
    const auto space = buffer_.prepare(kReadSize);
    buffer_.commit(co_await stream_.async_read_some(space, asio::redirect_error(asio::use_awaitable, failed)));
    served_any_ = true;
    co_return !failed;
  }

  Task<bool> refuse_unread(boost::system::error_code failed) {
    auto response = response_to(failed);
    if (!response) co_return false;
    co_return co_await write(std::move(*response), false, false);
  }

  // Returns whether the connection may serve another request.
  Task<bool> write(WebResponse response, bool head_only, bool keep_alive) {
    const auto message = response_message(response, head_only, keep_alive);
    boost::system::error_code failed;
    lowest().expires_after(context_.limits.response);
    co_await http::async_write(stream_, message, asio::redirect_error(asio::use_awaitable, failed));
    co_return keep_alive && !failed && !closed_;
  }

  // The end of the connection is the end of the stream.
  Task<bool> write_events(WebResponse response, bool head_only) {
    bool open = co_await write_text(event_stream_head());
    if (head_only) co_return false;
    spawn(context_.core, watch_peer(this->shared_from_this()));
    const std::weak_ptr<Wakeup> woken = woken_;
    const auto source = response.events([woken] {
      if (const auto waiting = woken.lock()) waiting->wake();
    });
    const Instant end = context_.clock.now() + context_.limits.stream;
    Instant ping = context_.clock.now() + context_.limits.ping;
    while (open && !closed_ && context_.clock.now() < end) {
      std::string text;
      if (const auto event = source->take())
        text = fmt::format("event: {}\ndata: {}\n\n", event->name, event->data);
      else if (context_.clock.now() >= ping)
        text = ": ping\n\n";
      if (text.empty()) {
        co_await woken_->wait_until(context_.clock, std::min(ping, end));
      } else {
        open = co_await write_text(text);
        ping = context_.clock.now() + context_.limits.ping;
      }
    }
    close();  // ends watch_peer()
    co_return false;
  }

  Task<bool> write_text(std::string text) {
    boost::system::error_code failed;
    lowest().expires_after(context_.limits.response);
    co_await asio::async_write(stream_, asio::buffer(text), asio::redirect_error(asio::use_awaitable, failed));
    co_return !failed;
  }

  // Reads until the peer of a stream of events has gone.
  static Task<void> watch_peer(std::shared_ptr<StreamConnection> self) {
    boost::system::error_code failed;
    std::array<char, kReadSize> ignored{};
    self->lowest().expires_never();
    while (!failed)
      co_await self->stream_.async_read_some(asio::buffer(ignored), asio::redirect_error(asio::use_awaitable, failed));
    self->close();
  }

  Task<void> linger() {
    if (closed_) co_return;
    boost::system::error_code failed;
    lowest().expires_after(kLingerLimit);
    // Closing TLS properly tells the peer that nothing was cut off.
    if constexpr (kTls) co_await stream_.async_shutdown(asio::redirect_error(asio::use_awaitable, failed));
    lowest().socket().shutdown(tcp::socket::shutdown_send, failed);
    std::array<char, kReadSize> ignored{};
    for (std::size_t left = kLingerBytes; !failed && left >= ignored.size(); left -= ignored.size())
      co_await lowest().async_read_some(asio::buffer(ignored), asio::redirect_error(asio::use_awaitable, failed));
  }

  struct RequestInProgress {
    explicit RequestInProgress(RequestHandling& handling) : handling_(handling) { handling_.begin_request(); }
    ~RequestInProgress() { handling_.end_request(); }
    RequestInProgress(const RequestInProgress&) = delete;
    RequestInProgress& operator=(const RequestInProgress&) = delete;
    RequestHandling& handling_;
  };

  static constexpr std::size_t kReadSize = 2048;
  const ConnectionContext context_;
  Stream stream_;
  std::string client_;
  beast::flat_buffer buffer_{context_.limits.header_bytes + context_.limits.body_bytes};
  const std::shared_ptr<Wakeup> woken_;  // for write_events()
  bool served_any_ = false, closed_ = false;
};

}  // namespace

std::shared_ptr<WebConnection> plain_connection(const ConnectionContext& context, tcp::socket socket) {
  return std::make_shared<StreamConnection<beast::tcp_stream>>(context, beast::tcp_stream(std::move(socket)));
}

// Connections keep what they need of the context.
std::shared_ptr<WebConnection> tls_connection(const ConnectionContext& context, tcp::socket socket,
                                              asio::ssl::context& tls) {
  return std::make_shared<StreamConnection<TlsStream>>(context, TlsStream(beast::tcp_stream(std::move(socket)), tls));
}

}  // namespace cardcage
