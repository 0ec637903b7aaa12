#include "host/apiserver/curl_multi.h"

#include <sys/socket.h>

namespace cardcage {
namespace {

constexpr std::size_t kIdleHandles = 8;
// Matters only for a server without HTTP/2, where every watch needs a connection of its own.
constexpr long kMaxConnections = 64;

}  // namespace

CurlMulti::CurlMulti(asio::io_context& core, Duration silence_limit)
    : core_(core), timer_(core), silence_limit_(silence_limit) {
  curl_global_init(CURL_GLOBAL_DEFAULT);  // counted and thread-safe since 7.84
  multi_ = curl_multi_init();
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &CurlMulti::on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &CurlMulti::on_timeout);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
  curl_multi_setopt(multi_, CURLMOPT_MAX_HOST_CONNECTIONS, kMaxConnections);
  // By default libcurl keeps four connections per running transfer, so the end of a batch would close most of them.
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kMaxConnections);
}

CurlMulti::~CurlMulti() {
  idle_.clear();
  curl_multi_cleanup(multi_);
  curl_global_cleanup();
}

CurlHandle CurlMulti::take_handle() {
  if (idle_.empty()) return CurlHandle(curl_easy_init());
  CurlHandle handle = std::move(idle_.back());
  idle_.pop_back();
  return handle;
}

void CurlMulti::give_back_handle(CurlHandle handle) {
  if (!handle || idle_.size() >= kIdleHandles) return;
  curl_easy_reset(handle.get());
  idle_.push_back(std::move(handle));
}

bool CurlMulti::start(CURL* handle) {
  starting_ = true;
  const CURLMcode added = curl_multi_add_handle(multi_, handle);
  starting_ = false;
  if (added != CURLM_OK) return false;
  act(CURL_SOCKET_TIMEOUT, 0);
  return true;
}

void CurlMulti::stop(CURL* handle) { curl_multi_remove_handle(multi_, handle); }

void CurlMulti::note_opened(curl_socket_t fd) {
  silences_.erase(fd);  // the silence was that of an earlier connection
  const auto stale = sockets_.find(fd);
  if (stale == sockets_.end()) return;
  const int wanted = stale->second->wanted;
  sockets_.erase(stale);
  on_socket(nullptr, fd, wanted, this, nullptr);
}

void CurlMulti::wait_began(Instant start) {
  if (waiting_++ > 0) return;
  for (auto& [fd, silence] : silences_) silence.wait_began(start);
}

void CurlMulti::wait_ended() {
  if (--waiting_ > 0) return;
  for (auto& [fd, silence] : silences_) silence.wait_ended(now());
}

void CurlMulti::close_silent() {
  for (const auto& [fd, socket] : sockets_) {
    int domain = AF_UNIX;
    socklen_t size = sizeof domain;
    ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    const bool is_resolver = domain == AF_UNIX;  // libcurl has a socket to its own thread
    if (!is_resolver && silences_[fd].length(now()) >= silence_limit_) ::shutdown(fd, SHUT_RDWR);
  }
}

int CurlMulti::on_socket(CURL*, curl_socket_t fd, int wanted, void* self, void*) {
  auto& multi = *static_cast<CurlMulti*>(self);
  if (wanted == CURL_POLL_REMOVE) {
    multi.sockets_.erase(fd);
    return 0;
  }
  auto& socket = multi.sockets_[fd];
  if (!socket) socket = std::make_shared<Socket>(multi.core_, fd);
  if (multi.waiting_ > 0) multi.silences_[fd].wait_began(now());
  socket->wanted = wanted;
  multi.wait(socket);
  return 0;
}

void CurlMulti::wait(const std::shared_ptr<Socket>& socket) {
  using Descriptor = asio::posix::descriptor_base;
  if ((socket->wanted & CURL_POLL_IN) != 0) wait_for(socket, Descriptor::wait_read, CURL_CSELECT_IN, &Socket::reading);
  if ((socket->wanted & CURL_POLL_OUT) != 0)
    wait_for(socket, Descriptor::wait_write, CURL_CSELECT_OUT, &Socket::writing);
}

void CurlMulti::wait_for(const std::shared_ptr<Socket>& socket, asio::posix::descriptor_base::wait_type type, int event,
                         bool Socket::* waiting) {
  if ((*socket).*waiting) return;
  (*socket).*waiting = true;
  // The number of a closed descriptor is soon reused, so the weak pointer tells whether this is still the same socket.
  socket->descriptor.async_wait(type, [weak_self = weak_from_this(), weak = std::weak_ptr(socket), event,
                                       waiting](const boost::system::error_code& failure) {
    const auto self = weak_self.lock();
    auto ready = weak.lock();
    if (failure || !self || !ready) return;
    (*ready).*waiting = false;
    const curl_socket_t fd = ready->descriptor.native_handle();
    if (event == CURL_CSELECT_IN) self->silences_[fd].heard(now());
    // Released before act(), in which libcurl may close the connection and open another one with the same number.
    // Releasing the old one after that would remove the new one from the reactor.
    ready.reset();
    self->act(fd, event);
    ready = weak.lock();
    if (ready) self->wait(ready);
  });
}

int CurlMulti::on_timeout(CURLM*, long timeout_ms, void* self) {
  auto& multi = *static_cast<CurlMulti*>(self);
  multi.timeout_.reset();
  if (timeout_ms < 0 || multi.starting_) return 0;  // start() acts at once
  multi.timeout_ = now() + std::chrono::milliseconds(timeout_ms);
  if (!multi.armed_ || *multi.timeout_ < *multi.armed_) multi.arm(*multi.timeout_);
  return 0;
}

void CurlMulti::arm(Instant expiry) {
  armed_ = expiry;
  timer_.expires_at(expiry);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& failure) {
    const auto self = weak.lock();
    if (failure || !self) return;
    self->armed_.reset();
    if (!self->timeout_) return;
    if (*self->timeout_ > now()) return self->arm(*self->timeout_);
    self->timeout_.reset();
    self->act(CURL_SOCKET_TIMEOUT, 0);
  });
}

void CurlMulti::act(curl_socket_t fd, int events) {
  int running = 0;
  curl_multi_socket_action(multi_, fd, events, &running);
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    char* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    const CURLcode result = message->data.result;
    reinterpret_cast<CurlTransfer*>(transfer)->on_end(result);
  }
}

}  // namespace cardcage
