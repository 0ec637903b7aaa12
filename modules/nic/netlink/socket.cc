#include "modules/nic/netlink/socket.h"

#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

namespace cardcage::nic {
namespace {

constexpr int kDumpTries = 5;
// The most bytes that the kernel fills in one read of a dump (NLMSG_GOODSIZE, max_recvmsg_len).
constexpr std::size_t kBuffer = 32 << 10;
// The size of the largest message: an interface with its virtual functions, some hundred bytes for each.
constexpr std::size_t kLargest = 256 << 10;

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

int call(const nlmsghdr* message, void* function) {
  (*static_cast<const NetlinkSocket::OnMessage*>(function))(*message);
  return MNL_CB_OK;
}

int take(const nlattr* attribute, void* action) {
  (*static_cast<const std::function<void(const nlattr&)>*>(action))(*attribute);
  return MNL_CB_OK;
}

}  // namespace

NetlinkSocket::NetlinkSocket(Protocol protocol) : socket_(mnl_socket_open2(static_cast<int>(protocol), SOCK_CLOEXEC)) {
  if (!socket_ || mnl_socket_bind(socket_.get(), 0, MNL_SOCKET_AUTOPID) != 0) fail("netlink");
}

NetlinkSocket::NetlinkSocket(int descriptor) {
  const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (copy >= 0) socket_.reset(mnl_socket_fdopen(copy));
  if (socket_) return;
  const int error = errno;
  if (copy >= 0) ::close(copy);
  errno = error;
  fail("netlink");
}

void NetlinkSocket::join(int group) {
  if (mnl_socket_setsockopt(socket_.get(), NETLINK_ADD_MEMBERSHIP, &group, sizeof group) != 0) fail("netlink group");
}

void NetlinkSocket::dump(std::uint16_t type, std::uint8_t family, const OnMessage& on_message) {
  const auto build = [family](nlmsghdr& request) {
    static_cast<rtgenmsg*>(mnl_nlmsg_put_extra_header(&request, sizeof(rtgenmsg)))->rtgen_family = family;
  };
  dump(type, build, on_message);
}

void NetlinkSocket::dump(std::uint16_t type, const Build& build, const OnMessage& on_message) {
  std::array<char, kBuffer> buffer{};
  for (int left = kDumpTries; left > 0; --left) {
    nlmsghdr* const request = mnl_nlmsg_put_header(buffer.data());
    request->nlmsg_type = type;
    request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request->nlmsg_seq = ++sequence_;
    build(*request);
    if (mnl_socket_sendto(socket_.get(), request, request->nlmsg_len) < 0) fail("netlink dump");
    std::vector<std::string> messages;
    if (!read_dump(messages)) continue;
    for (const std::string& message : messages) on_message(*reinterpret_cast<const nlmsghdr*>(message.data()));
    return;
  }
  errno = EINTR;
  fail("netlink dump");
}

// Reads to the end even if the list has changed, because a socket can have only one dump at a time.
bool NetlinkSocket::read_dump(std::vector<std::string>& messages) {
  std::array<char, kBuffer> buffer{};
  for (bool is_consistent = true;;) {
    const ssize_t size = mnl_socket_recvfrom(socket_.get(), buffer.data(), buffer.size());
    if (size < 0) fail("netlink dump");
    int unread = static_cast<int>(size);
    for (const auto* message = reinterpret_cast<const nlmsghdr*>(buffer.data()); mnl_nlmsg_ok(message, unread);
         message = mnl_nlmsg_next(message, &unread)) {
      if (message->nlmsg_seq != sequence_) continue;
      if ((message->nlmsg_flags & NLM_F_DUMP_INTR) != 0) is_consistent = false;
      if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) {
        int error = 0;
        if (mnl_nlmsg_get_payload_len(message) >= sizeof error)
          std::memcpy(&error, mnl_nlmsg_get_payload(message), sizeof error);
        if (error >= 0) return is_consistent;
        errno = -error;
        fail("netlink dump");
      }
      messages.emplace_back(reinterpret_cast<const char*>(message), message->nlmsg_len);
    }
  }
}

void NetlinkSocket::change(std::uint16_t type, std::uint16_t flags, const Build& build) {
  request(type, flags | NLM_F_ACK, build, [](const nlmsghdr&) {});
}

void NetlinkSocket::get(std::uint16_t type, const Build& build, const OnMessage& on_message) {
  request(type, 0, build, on_message);
}

// Expects one message in response. Responses to earlier requests of another user of the socket are skipped.
void NetlinkSocket::request(std::uint16_t type, int flags, const Build& build, const OnMessage& on_message) {
  std::vector<char> buffer(kLargest);
  nlmsghdr* const message = mnl_nlmsg_put_header(buffer.data());
  message->nlmsg_type = type;
  message->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  message->nlmsg_seq = ++sequence_;
  build(*message);
  if (mnl_socket_sendto(socket_.get(), message, message->nlmsg_len) < 0) fail("netlink request");
  for (;;) {
    const ssize_t size = mnl_socket_recvfrom(socket_.get(), buffer.data(), buffer.size());
    if (size < 0) fail("netlink request");
    const auto* const answer = reinterpret_cast<const nlmsghdr*>(buffer.data());
    if (!mnl_nlmsg_ok(answer, static_cast<int>(size)) || answer->nlmsg_seq != sequence_) continue;
    if (answer->nlmsg_type != NLMSG_ERROR) return on_message(*answer);
    const auto* const result = static_cast<const nlmsgerr*>(mnl_nlmsg_get_payload(answer));
    if (result->error == 0) return;
    errno = -result->error;
    fail("netlink request");
  }
}

bool NetlinkSocket::receive(const OnMessage& on_message) {
  std::array<char, kBuffer> buffer{};
  bool complete = true;
  for (;;) {
    const ssize_t size = ::recv(descriptor(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == ENOBUFS) {
      complete = false;
      continue;
    }
    if (size <= 0) return complete;
    mnl_cb_run(buffer.data(), static_cast<std::size_t>(size), 0, 0, call, const_cast<OnMessage*>(&on_message));
  }
}

void for_each_attribute(const nlmsghdr& message, std::size_t offset,
                        const std::function<void(const nlattr& attribute)>& action) {
  mnl_attr_parse(&message, static_cast<unsigned>(offset), take, const_cast<void*>(static_cast<const void*>(&action)));
}

void for_each_nested(const nlattr& attribute, const std::function<void(const nlattr& nested)>& action) {
  mnl_attr_parse_nested(&attribute, take, const_cast<void*>(static_cast<const void*>(&action)));
}

}  // namespace cardcage::nic
