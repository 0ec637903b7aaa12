// Multiplexes several byte streams over one connection: pieces with a header of eight bytes each
// (github.com/containerd/nri, pkg/net/multiplex).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "host/core/result.h"
#include "host/nri/ttrpc_frame.h"

namespace cardcage {

// The service called over a stream. Each stream has requests in one direction and responses in the other.
enum class Channel : std::uint32_t { kPlugin = 1, kRuntime = 2 };

constexpr std::size_t kPieceHeader = 8;
// The runtime reads with a buffer of Go's default size, and closes the connection if a piece does not fit in it.
constexpr std::size_t kMaxSentPiece = 4096;
constexpr std::size_t kMaxReceivedPiece = kTtrpcHeader + kMaxTtrpcMessage;

// Splits `bytes` into pieces of the channel.
std::string multiplex(Channel channel, std::string_view bytes);

// Separates the streams again. It buffers only the header of a piece.
class Demultiplexer {
 public:
  // Takes the next bytes of a channel. An error ends the connection.
  using Take = std::function<Status(Channel channel, std::string_view bytes)>;
  // Reads received bytes, in parts of any size.
  Status read(std::string_view bytes, const Take& take);

 private:
  std::array<char, kPieceHeader> header_{};
  std::size_t header_size_ = 0;  // bytes received of the header
  std::size_t left_ = 0;         // bytes left in the piece
};

}  // namespace cardcage
