#include "host/nri/ttrpc_frame.h"

#include <utility>

#include "host/nri/big_endian.h"

namespace cardcage {

Result<std::string> encode_ttrpc_frame(const TtrpcFrame& frame) {
  if (frame.message.size() > kMaxTtrpcMessage)
    return fail(Code::kResourceExhausted, "a message of {} bytes is larger than the {} MiB that ttrpc allows",
                frame.message.size(), kMaxTtrpcMessage >> 20);
  std::string bytes;
  bytes.reserve(kTtrpcHeader + frame.message.size());
  append_big_endian(bytes, static_cast<std::uint32_t>(frame.message.size()));
  append_big_endian(bytes, frame.stream);
  bytes.push_back(static_cast<char>(frame.type));
  bytes.push_back(static_cast<char>(frame.flags));
  return bytes += frame.message;
}

Result<std::optional<TtrpcFrame>> TtrpcReader::next() {
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  const bool has_header = rest.size() >= kTtrpcHeader;
  const std::size_t size = has_header ? read_big_endian(rest, 0) : 0;
  if (size > kMaxTtrpcMessage)
    return fail(Code::kDataLoss, "a ttrpc message of {} bytes is announced and {} MiB are allowed", size,
                kMaxTtrpcMessage >> 20);
  if (!has_header || rest.size() < kTtrpcHeader + size) {
    buffer_.erase(0, std::exchange(begin_, 0));
    return std::nullopt;
  }
  TtrpcFrame frame;
  frame.stream = read_big_endian(rest, 4);
  frame.type = static_cast<TtrpcFrame::Type>(rest[8]);
  frame.flags = static_cast<std::uint8_t>(rest[9]);
  frame.message = rest.substr(kTtrpcHeader, size);
  begin_ += kTtrpcHeader + size;
  return frame;
}

}  // namespace cardcage
