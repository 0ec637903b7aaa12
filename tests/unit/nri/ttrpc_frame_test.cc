#include "host/nri/ttrpc_frame.h"

#include <gmock/gmock.h>

#include <vector>

namespace cardcage {
namespace {

using ::testing::HasSubstr;

TtrpcFrame frame_of(std::uint32_t stream, std::string message) {
  TtrpcFrame frame;
  frame.stream = stream;
  frame.type = TtrpcFrame::Type::kResponse;
  frame.flags = 4;
  frame.message = std::move(message);
  return frame;
}

TEST(TtrpcFrameTest, HasTheHeaderThatTheProtocolSpecifies) {
  EXPECT_EQ(*encode_ttrpc_frame(frame_of(0x01020304, "abc")), std::string("\0\0\0\x03\x01\x02\x03\x04\x02\x04"
                                                                          "abc",
                                                                          13));
}

TEST(TtrpcFrameTest, FramesSurvivePiecesOfAnySize) {
  std::vector<TtrpcFrame> sent;
  std::string stream;
  for (std::uint32_t i = 0; i < 20; ++i) {
    sent.push_back(frame_of(2 * i + 1, std::string(i * 7, 'x')));
    stream += *encode_ttrpc_frame(sent.back());
  }
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{64}, stream.size()}) {
    TtrpcReader reader;
    std::vector<TtrpcFrame> received;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      reader.append(std::string_view(stream).substr(at, piece));
      while (auto frame = *reader.next()) received.push_back(std::move(*frame));
    }
    EXPECT_EQ(received, sent) << piece;
  }
}

TEST(TtrpcFrameTest, TheLimitHoldsOnBothSides) {
  const auto largest = encode_ttrpc_frame(frame_of(1, std::string(kMaxTtrpcMessage, 'x')));
  ASSERT_TRUE(largest);
  TtrpcReader reader;
  reader.append(*largest);
  EXPECT_EQ((*reader.next())->message.size(), kMaxTtrpcMessage);

  const auto refused = encode_ttrpc_frame(frame_of(1, std::string(kMaxTtrpcMessage + 1, 'x')));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  // The header announces 4 GiB: refused before the body arrives.
  reader.append(std::string("\xff\xff\xff\xff\0\0\0\1\1\0", 10));
  const auto read = reader.next();
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("4294967295 bytes is announced and 4 MiB are allowed"));
}

TEST(TtrpcFrameTest, AFrameOfAnUnknownTypeIsAFrame) {
  TtrpcReader reader;
  reader.append(std::string("\0\0\0\0\0\0\0\1\x77\0", 10));
  const auto frame = reader.next();
  ASSERT_TRUE(frame && *frame);
  EXPECT_EQ((*frame)->type, static_cast<TtrpcFrame::Type>(0x77));
}

}  // namespace
}  // namespace cardcage
