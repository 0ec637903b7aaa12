// Descriptors that go to another process over a unix socket (SCM_RIGHTS, unix(7)).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "host/core/unique_fd.h"

namespace cardcage {

// The descriptors that accompany a message.
using Descriptors = std::vector<SharedFd>;
constexpr std::size_t kMaxPassedDescriptors = 4;  // per message

// sendmsg(2) and recvmsg(2): descriptors go along with the first byte. They return the number of bytes, or -1 with
// errno; EMFILE if descriptors got lost for lack of numbers.
ssize_t send_with(int socket, std::span<const char> bytes, const Descriptors& descriptors);
ssize_t receive_with(int socket, std::span<char> bytes, std::deque<SharedFd>& descriptors);

}  // namespace cardcage
