// Several streams of bytes over one connection: pieces with eight bytes of header each (github.com/containerd/nri,
// pkg/net/multiplex).
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

// The service that is called over a stream. Each has its requests in one direction and its responses in the other.
enum class Channel : std::uint32_t { kPlugin = 1, kRuntime = 2 };

constexpr std::size_t kPieceHeader = 8;
// The runtime reads with a buffer of Go's default size, and closes the connection if a piece does not fit in it.
constexpr std::size_t kMaxSentPiece = 4096;
constexpr std::size_t kMaxReceivedPiece = kTtrpcHeader + kMaxTtrpcMessage;

// `bytes` as pieces of the channel.
std::string multiplex(Channel channel, std::string_view bytes);

// Tells the streams apart again. It keeps nothing of a piece but its header.
class Demultiplexer {
 public:
  // The next bytes of a channel. An error ends the connection.
  using Take = std::function<Status(Channel channel, std::string_view bytes)>;
  // Reads what has arrived, in parts of any size.
  Status read(std::string_view bytes, const Take& take);

 private:
  std::array<char, kPieceHeader> header_{};
  std::size_t header_size_ = 0;  // how much of it has arrived
  std::size_t left_ = 0;         // of the piece
};

}  // namespace cardcage
