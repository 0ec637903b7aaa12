#include "host/sinks/asks.h"

#include <gmock/gmock.h>

#include <future>

namespace cardcage {
namespace {

using ::testing::HasSubstr;

TEST(AsksTest, EachQuestionGetsItsOwnAnswer) {
  std::uint64_t next = 0;
  Asks* self = nullptr;
  Asks at_once({.send =
                    [&](std::uint64_t number, std::uint64_t call, const ModuleAsk& ask) {
                      EXPECT_EQ(call, 7u);
                      EXPECT_EQ(std::get<JournalAsk>(ask).bytes, "x");
                      next = number;
                    },
                .attend =
                    [&](const std::function<bool()>& answered) {
                      EXPECT_FALSE(answered());
                      self->answer(next + 1, {});  // no caller waits for it
                      EXPECT_FALSE(answered());
                      self->answer(next, fail(Code::kResourceExhausted, "the disk is full"));
                      EXPECT_TRUE(answered());
                    }});
  self = &at_once;
  EXPECT_EQ(at_once.ask(7, JournalAsk("x")).error().message, "the disk is full");
}

TEST(AsksTest, AThreadWaitsForTheAnswerOfAnother) {
  std::promise<std::uint64_t> sent;
  Asks asks(
      {.send = [&](std::uint64_t number, std::uint64_t, const ModuleAsk&) { sent.set_value(number); }, .attend = {}});
  auto answer = std::async(std::launch::async, [&] { return asks.ask(1, JournalAsk("x")); });
  asks.answer(sent.get_future().get(), {});
  EXPECT_TRUE(answer.get());
}

TEST(AsksTest, AClosedHostAnswersEveryQuestion) {
  std::promise<void> sent;
  Asks asks({.send = [&](std::uint64_t, std::uint64_t, const ModuleAsk&) { sent.set_value(); }, .attend = {}});
  auto waiting = std::async(std::launch::async, [&] { return asks.ask(1, JournalAsk("x")); });
  sent.get_future().get();
  asks.close();
  EXPECT_THAT(waiting.get().error().message, HasSubstr("cannot write the journal"));
  sent = {};
  EXPECT_EQ(asks.ask(1, JournalAsk("x")).error().code, Code::kCancelled);
}

}  // namespace
}  // namespace cardcage
