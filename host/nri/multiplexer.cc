#include "host/nri/multiplexer.h"

#include <algorithm>

#include "host/nri/big_endian.h"

namespace cardcage {

std::string multiplex(Channel channel, std::string_view bytes) {
  std::string pieces;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kMaxSentPiece);
    bytes.remove_prefix(piece.size());
    append_big_endian(pieces, static_cast<std::uint32_t>(channel));
    append_big_endian(pieces, static_cast<std::uint32_t>(piece.size()));
    pieces += piece;
  }
  return pieces;
}

Status Demultiplexer::read(std::string_view bytes, const Take& take) {
  while (!bytes.empty()) {
    if (header_size_ < kPieceHeader) {
      const std::size_t taken = bytes.copy(header_.data() + header_size_, kPieceHeader - header_size_);
      bytes.remove_prefix(taken);
      header_size_ += taken;
      if (header_size_ < kPieceHeader) return {};
      left_ = read_big_endian({header_.data(), kPieceHeader}, 4);
      if (left_ > kMaxReceivedPiece)
        return fail(Code::kDataLoss, "a piece of {} bytes is announced and {} are allowed", left_, kMaxReceivedPiece);
    }
    const std::string_view piece = bytes.substr(0, left_);
    bytes.remove_prefix(piece.size());
    left_ -= piece.size();
    const auto channel = static_cast<Channel>(read_big_endian({header_.data(), kPieceHeader}, 0));
    if (left_ == 0) header_size_ = 0;
    if (piece.empty()) continue;
    if (auto taken = take(channel, piece); !taken) return taken;
  }
  return {};
}

}  // namespace cardcage
