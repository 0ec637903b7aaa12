#include "host/core/log.h"

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>

namespace cardcage {
namespace {

using ::testing::EndsWith;

static_assert(is_reserved_field("message") && is_reserved_field("level") && is_reserved_field("time"));
static_assert(!is_reserved_field("error"));

// Returns the one line that `write` logs.
std::string line_of(LogFormat format, const std::function<void()>& write) {
  configure_log(LogLevel::kInfo, format);
  ::testing::internal::CaptureStderr();
  write();
  std::string line = ::testing::internal::GetCapturedStderr();
  configure_log(LogLevel::kInfo, LogFormat::kText);
  return line;
}

void log_a_fault() {
  log(LogLevel::kWarn, "device \"gpu-0\" is\nunhealthy",
      {{"module", "gpu"}, {"devices", std::size_t{3}}, {"offset", -4}, {"held", true}, {"error", "too hot"}});
}

TEST(Log, JsonHasNumbersBooleansAndEachMemberOnce) {
  const std::string line = line_of(LogFormat::kJson, log_a_fault);
  EXPECT_THAT(line, EndsWith(R"("level":"warning","message":"device \"gpu-0\" is\nunhealthy","module":"gpu",)"
                             R"("devices":3,"offset":-4,"held":true,"error":"too hot"})"
                             "\n"));
  EXPECT_TRUE(boost::json::parse(line).is_object());
}

TEST(Log, ATextIsOneLine) {
  const std::string line = line_of(LogFormat::kText, log_a_fault);
  EXPECT_THAT(line, EndsWith("device \"gpu-0\" is\\nunhealthy module=gpu devices=3 offset=-4 held=true "
                             "error=\"too hot\"\n"));
}

}  // namespace
}  // namespace cardcage
