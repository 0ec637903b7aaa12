#include <linux/netlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "host/events/kernel_sources.h"

namespace cardcage {
namespace {

using Outcome = RecordReader::Outcome;

// The kernel's buffer has 2 KiB.
using Buffer = std::array<char, 16u << 10>;
constexpr std::uint32_t kKernelGroup = 1;  // udevd uses 2
constexpr int kReceiveBuffer = 1 << 20;    // holds some hundred uevents, as when a bus is enumerated

Error cannot_receive(int error_number) {
  const Error why = fail_errno(error_number, "cannot receive uevents").error();
  return {why.code, why.message + ": allow the daemon sockets of AF_NETLINK"};
}

Result<Outcome> read_datagram(int descriptor, Buffer& buffer, const Clock& clock,
                              const std::function<void(const Uevent&)>& heard) {
  sockaddr_nl from{};
  iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
  msghdr message{};
  message.msg_name = &from;
  message.msg_namelen = sizeof from;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const ssize_t size = ::recvmsg(descriptor, &message, MSG_DONTWAIT);
  if (size < 0) {
    switch (errno) {
      case EAGAIN: return Outcome::kNothing;
      case ENOBUFS: return Outcome::kLost;
      case EINTR: return Outcome::kRead;
      default: return std::unexpected(cannot_receive(errno));
    }
  }
  // Root of any user namespace may send here; only the kernel has the port 0.
  const bool of_kernel = message.msg_namelen == sizeof from && from.nl_family == AF_NETLINK && from.nl_pid == 0;
  if (!of_kernel || (message.msg_flags & MSG_TRUNC) != 0) return Outcome::kRead;
  if (const auto event = read_uevent({buffer.data(), static_cast<std::size_t>(size)}, clock.now())) heard(*event);
  return Outcome::kRead;
}

}  // namespace

Result<std::unique_ptr<RecordReader>> watch_uevents(asio::io_context& core, Clock& clock,
                                                    KernelListener<Uevent> listener) {
  UniqueFd socket(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT));
  if (!socket) return std::unexpected(cannot_receive(errno));
  // The fallback works without the privilege, up to net.core.rmem_max.
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBuffer, sizeof kReceiveBuffer) != 0)
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = kKernelGroup;
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return std::unexpected(cannot_receive(errno));
  RecordReader::Listener records;
  records.read = [buffer = std::make_shared<Buffer>(), &clock, heard = std::move(listener.heard)](int descriptor) {
    return read_datagram(descriptor, *buffer, clock, heard);
  };
  records.lost = std::move(listener.lost);
  records.failed = std::move(listener.failed);
  return std::make_unique<RecordReader>(core, clock, std::move(socket), std::move(records));
}

}  // namespace cardcage
