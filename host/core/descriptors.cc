#include "host/core/descriptors.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace cardcage {

ssize_t send_with(int socket, std::span<const char> bytes, const Descriptors& descriptors) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxPassedDescriptors * sizeof(int))> control{};
  iovec data{.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    std::array<int, kMaxPassedDescriptors> numbers{};
    const std::size_t count = std::min(descriptors.size(), numbers.size());
    for (std::size_t i = 0; i < count; ++i) numbers[i] = descriptors[i]->get();
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(header), numbers.data(), count * sizeof(int));
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

ssize_t receive_with(int socket, std::span<char> bytes, std::deque<SharedFd>& descriptors) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxPassedDescriptors * sizeof(int))> control{};
  iovec data{.iov_base = bytes.data(), .iov_len = bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (size < 0) return size;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; at + sizeof(int) <= header->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header) + at, sizeof number);
      descriptors.push_back(std::make_shared<const UniqueFd>(number));
    }
  }
  if ((message.msg_flags & MSG_CTRUNC) == 0) return size;
  errno = EMFILE;
  return -1;
}

}  // namespace cardcage
