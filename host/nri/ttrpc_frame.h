// Frames of ttrpc: ten bytes of header, then a message (github.com/containerd/ttrpc, PROTOCOL.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

constexpr std::size_t kTtrpcHeader = 10;
constexpr std::size_t kMaxTtrpcMessage = 4u << 20;  // without its header

struct TtrpcFrame {
  enum class Type : std::uint8_t { kRequest = 1, kResponse = 2, kData = 3 };  // readers ignore all others
  std::uint32_t stream = 0;                                                   // odd; one per call
  Type type = Type::kRequest;
  std::uint8_t flags = 0;  // zero in a call with one request and one response
  std::string message;
  friend bool operator==(const TtrpcFrame&, const TtrpcFrame&) = default;
};

// Fails for a message that is too large.
Result<std::string> encode_ttrpc_frame(const TtrpcFrame& frame);

// Collects received pieces of any size, and returns one frame after the other.
class TtrpcReader {
 public:
  void append(std::string_view piece) { buffer_.append(piece); }
  // Returns nothing if more bytes must arrive. An error ends the stream: the start of the next frame is unknown.
  Result<std::optional<TtrpcFrame>> next();

 private:
  std::string buffer_;
  std::size_t begin_ = 0;
};

}  // namespace cardcage
