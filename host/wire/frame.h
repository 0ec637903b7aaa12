// Messages over a stream: four bytes of length, least significant first, then the message.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <span>
#include <string>

#include "host/core/result.h"

namespace cardcage {

// The descriptors that a worker inherits, beside the standard three; a cardcage-access gets the socket alone.
constexpr int kWorkerSocket = 3, kWorkerModule = 4, kLastWorkerFd = 4;

// The first argument of a worker that becomes a service; the path to execute, the program's name and its arguments
// follow. The path may begin at kServiceFolder. The worker waits for a command byte on kWorkerSocket; both descriptors
// end as it becomes the program. If that fails, it sends the reason.
constexpr const char* kServiceArgument = "--service";
constexpr int kServiceFolder = 4;
constexpr char kServiceStart = 's',
               kServiceStartTied = 't';  // a tied service ends with the process that sends the byte

constexpr std::size_t kFrameHeader = 4;
constexpr std::size_t kMaxFrame = 4u << 20;  // bytes of the message without its header

// Fails for a message that is too large.
Result<std::string> encode_frame(const google::protobuf::MessageLite& message);

// Collects received pieces of any size, and returns one message after the other.
class FrameReader {
 public:
  void append(std::span<const char> piece) { buffer_.append(piece.data(), piece.size()); }
  // Returns true if `message` was read, false if more bytes must arrive. An error ends the stream: the start of the
  // next message is unknown.
  Result<bool> next(google::protobuf::MessageLite& message);

 private:
  std::string buffer_;
  std::size_t begin_ = 0;
};

}  // namespace cardcage
