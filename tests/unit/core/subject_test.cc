#include "host/core/subject.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

const std::string kSubject = "module 'nic'";

std::string message_of(const std::string& message) {
  return within_subject({Code::kInternal, message}, kSubject, "does not start").error().message;
}

TEST(SubjectTest, IsNamedOnce) {
  EXPECT_EQ(message_of("module 'nic' cannot start: no driver: none"), "module 'nic' does not start: no driver: none");
  EXPECT_EQ(message_of("no driver"), "module 'nic' does not start: no driver");
  EXPECT_EQ(message_of("module 'nic2' cannot start: no driver"),
            "module 'nic' does not start: module 'nic2' cannot start: no driver");
  EXPECT_EQ(message_of("module 'nic' cannot start"), "module 'nic' does not start: it cannot start");
}

TEST(SubjectTest, BecomesAPronoun) {
  EXPECT_EQ(with_pronoun("module 'nic' does not start: no driver", kSubject), "it does not start: no driver");
  EXPECT_EQ(with_pronoun("its worker was killed", kSubject), "its worker was killed");
  EXPECT_EQ(with_pronoun("module 'nic", kSubject), "module 'nic");
}

}  // namespace
}  // namespace cardcage
