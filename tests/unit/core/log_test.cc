#include "host/core/log.h"

#include <gmock/gmock.h>

#include <vector>

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class LogTest : public ::testing::Test {
 protected:
  LogTest() {
    divert_log([this](LogLevel, std::string_view message, std::initializer_list<LogField> fields) {
      lines.emplace_back(message);
      for (const LogField& field : fields) lines.back() += " " + std::string(field.value);
    });
  }
  ~LogTest() override { divert_log({}); }

  std::vector<std::string> lines;
};

TEST_F(LogTest, ALimitedLineIsNotRepeated) {
  for (int i = 0; i < 3; ++i) log_limited(LogLevel::kError, "repeated", "the fan has stopped");
  EXPECT_THAT(lines, ElementsAre("the fan has stopped"));
}

TEST_F(LogTest, LinesThatDifferAreNotLostToTheFirst) {
  log_limited(LogLevel::kError, "several", "device is left out", {{"device", "gpu-0"}});
  log_limited(LogLevel::kError, "several", "device is left out", {{"device", "gpu-1"}});
  log_limited(LogLevel::kError, "several", "counter set is left out", {{"device", "gpu-1"}});
  EXPECT_THAT(lines,
              ElementsAre("device is left out gpu-0", "device is left out gpu-1", "counter set is left out gpu-1"));
}

TEST_F(LogTest, AFloodOfDifferentLinesIsLimited) {
  for (int i = 0; i < 100; ++i) log_limited(LogLevel::kError, "flood", "line " + std::to_string(i));
  EXPECT_THAT(lines, SizeIs(8));
}

}  // namespace
}  // namespace cardcage
