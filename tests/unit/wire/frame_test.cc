#include "host/wire/frame.h"

#include <gmock/gmock.h>

#include "cardcage/worker.pb.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using worker::v1::Request;

Request check_of(std::uint64_t call, std::string text) {
  Request request;
  request.set_call(call);
  request.set_reset(std::move(text));
  return request;
}

TEST(FrameTest, MessagesSurvivePiecesOfAnySize) {
  std::string stream;
  for (std::uint64_t i = 0; i < 20; ++i) stream += *encode_frame(check_of(i, std::string(i * 7, 'x')));
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{64}, stream.size()}) {
    FrameReader reader;
    std::uint64_t next = 0;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      reader.append(std::span(stream).subspan(at, std::min(piece, stream.size() - at)));
      Request request;
      while (*reader.next(request)) {
        EXPECT_EQ(request.call(), next);
        EXPECT_EQ(request.reset().size(), next * 7);
        ++next;
      }
    }
    EXPECT_EQ(next, 20u);
  }
}

TEST(FrameTest, AnEmptyMessageIsAMessage) {
  FrameReader reader;
  const auto frame = *encode_frame(Request());
  EXPECT_EQ(frame.size(), kFrameHeader);
  reader.append(frame);
  Request request;
  EXPECT_TRUE(*reader.next(request));
  EXPECT_FALSE(*reader.next(request));
}

TEST(FrameTest, TheLimitHoldsOnBothSides) {
  EXPECT_TRUE(encode_frame(check_of(1, std::string(kMaxFrame - 32, 'x'))));
  const auto refused = encode_frame(check_of(1, std::string(kMaxFrame + 1, 'x')));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  // The header announces 4 GiB: refused before the body arrives.
  FrameReader reader;
  reader.append(std::string("\xff\xff\xff\xff", 4));
  Request request;
  const auto read = reader.next(request);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("a frame of 4294967295 bytes is announced and 4 MiB are allowed"));
}

TEST(FrameTest, GarbageIsAnError) {
  FrameReader reader;
  reader.append(std::string("\x03\0\0\0\xff\xff\xff", 7));
  Request request;
  EXPECT_EQ(reader.next(request).error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace cardcage
