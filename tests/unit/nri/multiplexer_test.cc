#include "host/nri/multiplexer.h"

#include <gmock/gmock.h>

#include <map>

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using Streams = std::map<Channel, std::string>;

class MultiplexerTest : public ::testing::Test {
 protected:
  Status read(std::string_view bytes) {
    return demultiplexer.read(bytes, [this](Channel channel, std::string_view piece) -> Status {
      streams[channel] += piece;
      return {};
    });
  }
  Demultiplexer demultiplexer;
  Streams streams;
};

TEST_F(MultiplexerTest, PutsAHeaderInFrontOfEachPiece) {
  EXPECT_EQ(multiplex(Channel::kRuntime, "abc"), std::string("\0\0\0\x02\0\0\0\x03"
                                                             "abc",
                                                             11));
}

TEST_F(MultiplexerTest, KeepsStreamsApartWhateverThePieces) {
  const std::string large(10'000, 'x');
  const std::string bytes = multiplex(Channel::kPlugin, "one") + multiplex(Channel::kRuntime, large) +
                            multiplex(Channel::kPlugin, "two") + multiplex(static_cast<Channel>(7), "seven");
  const Streams expected = {
      {Channel::kPlugin, "onetwo"}, {Channel::kRuntime, large}, {static_cast<Channel>(7), "seven"}};
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{5000}, bytes.size()}) {
    streams.clear();
    for (std::size_t at = 0; at < bytes.size(); at += piece)
      ASSERT_TRUE(read(std::string_view(bytes).substr(at, piece)));
    EXPECT_EQ(streams, expected) << piece;
  }
}

TEST_F(MultiplexerTest, SendsPiecesThatFitIntoTheBufferOfTheRuntime) {
  const std::string bytes = multiplex(Channel::kPlugin, std::string(kMaxSentPiece + 1, 'x'));
  EXPECT_EQ(bytes.size(), kMaxSentPiece + 1 + 2 * kPieceHeader);
  EXPECT_EQ(bytes.substr(0, kPieceHeader), std::string("\0\0\0\1\0\0\x10\0", 8));
}

TEST_F(MultiplexerTest, AnEmptyPieceChangesNothing) {
  ASSERT_TRUE(read(std::string("\0\0\0\1\0\0\0\0", 8)));
  ASSERT_TRUE(read(multiplex(Channel::kPlugin, "abc")));
  EXPECT_EQ(streams, (Streams{{Channel::kPlugin, "abc"}}));
}

TEST_F(MultiplexerTest, RefusesAPieceThatIsTooLarge) {
  EXPECT_TRUE(read(std::string("\0\0\0\1\0\x40\0\x0a", 8))) << "the largest message with its header";
  Demultiplexer other;
  const auto read =
      other.read(std::string("\0\0\0\1\0\x40\0\x0b", 8), [](Channel, std::string_view) { return Status(); });
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("a piece of 4194315 bytes is announced and 4194314 are allowed"));
}

}  // namespace
}  // namespace cardcage
