#include "host/wire/frame.h"

#include <cstdint>

namespace cardcage {
namespace {

// Returns the size of the message after a header. Fails for one that is too large, before any allocation.
Result<std::size_t> decode_header(std::span<const char> header) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < kFrameHeader; ++i) size |= std::size_t{static_cast<std::uint8_t>(header[i])} << (8 * i);
  if (size > kMaxFrame)
    return fail(Code::kDataLoss, "a frame of {} bytes is announced and {} MiB are allowed", size, kMaxFrame >> 20);
  return size;
}

}  // namespace

Result<std::string> encode_frame(const google::protobuf::MessageLite& message) {
  const std::size_t size = message.ByteSizeLong();
  if (size > kMaxFrame)
    return fail(Code::kResourceExhausted, "a message of {} bytes is larger than the {} MiB that a worker takes", size,
                kMaxFrame >> 20);
  std::string frame(kFrameHeader + size, '\0');
  for (std::size_t i = 0; i < kFrameHeader; ++i) frame[i] = static_cast<char>((size >> (8 * i)) & 0xff);
  message.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(frame.data() + kFrameHeader));
  return frame;
}

Result<bool> FrameReader::next(google::protobuf::MessageLite& message) {
  const std::span<const char> rest(buffer_.data() + begin_, buffer_.size() - begin_);
  if (rest.size() < kFrameHeader) return false;
  const auto size = decode_header(rest.first(kFrameHeader));
  if (!size) return std::unexpected(size.error());
  if (rest.size() < kFrameHeader + *size) {
    buffer_.erase(0, std::exchange(begin_, 0));
    return false;
  }
  if (!message.ParseFromArray(rest.data() + kFrameHeader, static_cast<int>(*size)))
    return fail(Code::kDataLoss, "a frame of {} bytes is not a message", *size);
  begin_ += kFrameHeader + *size;
  if (begin_ == buffer_.size()) {
    buffer_.clear();
    begin_ = 0;
  }
  return true;
}

}  // namespace cardcage
