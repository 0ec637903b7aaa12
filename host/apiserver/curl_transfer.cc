#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

#include "host/apiserver/curl_multi.h"
#include "host/core/ascii.h"
#include "host/core/bounded.h"
#include "host/core/cancellation.h"

namespace cardcage {
namespace {

constexpr std::chrono::milliseconds kConnectTimeout{5'000};
// A silent peer is probed after 10 s, then every 5 s. The connection fails after 20 s without any acknowledgement.
constexpr long kKeepIdle = 10, kKeepInterval = 5;
constexpr unsigned kUserTimeoutMs = 20'000;
constexpr long kMaxIdleSeconds = 600;
constexpr std::chrono::seconds kMaxWaitForStream{30};
constexpr std::chrono::seconds kMaxRetryAfter = std::chrono::hours(1);

curl_socket_t open_socket(void* multi, curlsocktype, curl_sockaddr* address) {
  const int fd = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (fd < 0) return CURL_SOCKET_BAD;
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeoutMs, sizeof kUserTimeoutMs);
  static_cast<CurlMulti*>(multi)->note_opened(fd);
  return fd;
}

curl_blob blob_of(const std::string& text) {
  return {const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};  // libcurl only reads it
}

void append(CurlList& list, const std::string& header) {
  list.reset(curl_slist_append(list.release(), header.c_str()));
}

std::string seconds(Duration duration) {
  return fmt::format("{:.3g} s", std::chrono::duration<double>(duration).count());
}

// Keeps names as they are: "SSL certificate problem", "HTTP/2 stream 1 was not closed cleanly".
std::string lower_first(std::string text) {
  const bool name = text.starts_with("SSL") || text.starts_with("OpenSSL") || text.starts_with("HTTP");
  if (!text.empty() && !name) text[0] = to_lower(text[0]);
  return text;
}

}  // namespace

CurlTransfer::CurlTransfer(std::shared_ptr<CurlMulti> multi, std::shared_ptr<const HttpPeer> peer, HttpRequest request,
                           Mode mode)
    : multi_(std::move(multi)),
      peer_(std::move(peer)),
      request_(std::move(request)),
      mode_(mode),
      handle_(multi_->take_handle()),
      wake_(multi_->core()) {}

CurlTransfer::~CurlTransfer() {
  if (running_) multi_->stop(handle_.get());
  end_wait();
  multi_->give_back_handle(std::move(handle_));
}

bool CurlTransfer::start(Duration timeout) {
  timeout_ = timeout;
  started_ = CurlMulti::now();
  set_options(timeout);
  set_tls();
  running_ = waiting_ = true;  // set before start(), in which a refused connection may already end the transfer
  multi_->wait_began(started_);
  if (multi_->start(handle_.get())) return true;
  running_ = false;
  return false;
}

void CurlTransfer::end_wait() {
  if (std::exchange(waiting_, false)) multi_->wait_ended();
}

void CurlTransfer::set_options(Duration timeout) {
  CURL* const curl = handle_.get();
  const std::string url = peer_->url + request_.path;
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
  curl_easy_setopt(curl, CURLOPT_PROXY, "");  // ignore proxies that the environment sets
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
  curl_easy_setopt(curl, CURLOPT_PIPEWAIT, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PRIVATE, this);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail_.data());
  if (mode_ == Mode::kLines) {  // the headers of a watch come at once, and the first line maybe in a minute
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &CurlTransfer::on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, this);
  }
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &CurlTransfer::on_data);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, multi_.get());
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, kKeepIdle);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, kKeepInterval);
  curl_easy_setopt(curl, CURLOPT_MAXAGE_CONN, kMaxIdleSeconds);
  const auto connect = std::min(kConnectTimeout, std::chrono::ceil<std::chrono::milliseconds>(timeout));
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(connect.count()));

  append(headers_, "Accept: " + request_.accept);
  append(headers_, "Expect:");
  if (!peer_->bearer_token.empty()) append(headers_, "Authorization: Bearer " + peer_->bearer_token);
  if (!request_.body.empty()) {
    append(headers_, "Content-Type: " + request_.content_type);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request_.body.data());
  }
  if (request_.method != "GET") curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "cardcage");
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers_.get());
}

void CurlTransfer::set_tls() {
  CURL* const curl = handle_.get();
  curl_easy_setopt(curl, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!peer_->ca_pem.empty()) {
    const curl_blob ca = blob_of(peer_->ca_pem);
    curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &ca);
    curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);  // trust only these authorities
  }
  if (!peer_->client_certificate_pem.empty()) {
    const curl_blob certificate = blob_of(peer_->client_certificate_pem);
    const curl_blob key = blob_of(peer_->client_key_pem);
    curl_easy_setopt(curl, CURLOPT_SSLCERT_BLOB, &certificate);
    curl_easy_setopt(curl, CURLOPT_SSLKEY_BLOB, &key);
  }
}

long CurlTransfer::status() const {
  long status = 0;
  curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
  return status;
}

// A stream may be silent for a long time, but it must begin soon.
Instant CurlTransfer::limit() const {
  if (mode_ == Mode::kWhole) return started_ + timeout_;
  if (status() == 0) return started_ + std::min<Duration>(timeout_, kMaxWaitForStream);
  return std::min(started_ + timeout_, last_data_ + std::min(request_.max_pause, timeout_));
}

std::size_t CurlTransfer::on_header(char*, std::size_t, std::size_t size, void* self) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  transfer.end_wait();
  transfer.last_data_ = CurlMulti::now();
  transfer.wake_.cancel();
  return size;
}

std::size_t CurlTransfer::on_data(char* data, std::size_t, std::size_t size, void* self) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  if (transfer.received_.size() + size > transfer.request_.max_body) {
    transfer.refused_ = Error{Code::kInternal, fmt::format("the response of the API server is larger than {} bytes",
                                                           transfer.request_.max_body)};
    return CURL_WRITEFUNC_ERROR;
  }
  transfer.received_.append(data, size);
  if (transfer.mode_ == Mode::kLines) {
    transfer.last_data_ = CurlMulti::now();
    transfer.wake_.cancel();
  }
  return size;
}

void CurlTransfer::on_end(CURLcode result) {
  result_ = result;
  running_ = false;
  end_wait();
  multi_->stop(handle_.get());
  wake_.cancel();
}

Task<Status> CurlTransfer::progress() {
  boost::system::error_code woken;
  wake_.expires_at(limit());
  co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  if (is_cancelled(co_await asio::this_coro::cancellation_state))
    co_return fail(Code::kCancelled, "the request was cancelled");
  const Instant limit = this->limit();
  if (!result_ && CurlMulti::now() >= limit) {
    multi_->close_silent();
    if (status() != 0 && mode_ == Mode::kLines && limit < started_ + timeout_)
      co_return fail(Code::kDataLoss, "nothing came for {}", seconds(request_.max_pause));
    co_return fail(Code::kDeadlineExceeded, "no response within {}", seconds(limit - started_));
  }
  co_return Status{};
}

std::optional<std::string> CurlTransfer::next_line() {
  if (received_.empty() || !streams_lines()) return std::nullopt;
  const auto end = received_.find('\n', scanned_);
  if (end == std::string::npos) {
    received_.erase(0, taken_);
    taken_ = 0;
    scanned_ = received_.size();
    return std::nullopt;
  }
  std::string line = received_.substr(taken_, end - taken_);
  taken_ = scanned_ = end + 1;
  return line;
}

Result<HttpResponse> CurlTransfer::take_response() {
  if (refused_) return std::unexpected(*refused_);
  if (*result_ != CURLE_OK) return std::unexpected(transport_error());
  HttpResponse response;
  response.status = status();
  curl_off_t retry_after = 0;
  curl_easy_getinfo(handle_.get(), CURLINFO_RETRY_AFTER, &retry_after);
  if (retry_after > 0) response.retry_after = bounded(retry_after, std::chrono::seconds(1), kMaxRetryAfter);
  response.body = std::move(received_);
  return response;
}

Error CurlTransfer::transport_error() const {
  long os_error = 0;
  curl_easy_getinfo(handle_.get(), CURLINFO_OS_ERRNO, &os_error);
  const std::string detail = detail_[0] != '\0' ? detail_.data() : curl_easy_strerror(*result_);
  switch (*result_) {
    case CURLE_COULDNT_CONNECT:
      if (os_error != 0)
        return {Code::kUnavailable, lower_first(std::generic_category().message(static_cast<int>(os_error)))};
      return {Code::kUnavailable, lower_first(detail)};
    case CURLE_OPERATION_TIMEDOUT:
      return {Code::kUnavailable,
              fmt::format("no connection within {}", seconds(std::min<Duration>(kConnectTimeout, timeout_)))};
    case CURLE_PEER_FAILED_VERIFICATION:
      return {Code::kUnauthenticated,
              fmt::format("its certificate is not trusted: {}; check the certificate authority of the service account "
                          "or kubeconfig",
                          lower_first(detail))};
    case CURLE_SSL_CERTPROBLEM:
      return {Code::kUnauthenticated,
              fmt::format("the client certificate or key cannot be used: {}; check client-certificate and client-key "
                          "in the kubeconfig",
                          lower_first(detail))};
    case CURLE_SSL_CACERT_BADFILE:
      return {Code::kUnauthenticated,
              fmt::format("the certificate authority cannot be used: {}; it must be PEM", lower_first(detail))};
    case CURLE_SSL_CONNECT_ERROR: return {Code::kUnavailable, "the TLS handshake failed: " + lower_first(detail)};
    default: return {Code::kUnavailable, lower_first(detail)};
  }
}

}  // namespace cardcage
