// What the daemon leaves for the hook, and what the hook asks.
#include "host/hook/attachment_files.h"

#include <gmock/gmock.h>

#include "host/hook/hook_request.h"

namespace cardcage {
namespace {

TEST(AttachmentFilesTest, ANameTellsAllOfAnAttachment) {
  const Attachment attachment{"nic.example.com", "3b241101-e2bb-4255-8caf-4136c566a962", 4026532281};
  const std::string name = attachment_file_name(attachment);
  EXPECT_EQ(name, "nic.example.com_3b241101-e2bb-4255-8caf-4136c566a962_4026532281");
  EXPECT_EQ(parse_attachment_file_name(name), attachment);
}

TEST(AttachmentFilesTest, OtherNamesAreNoAttachments) {
  for (const char* name : {"", "_", "__", "a_b", "a_b_", "a_b_c", "a_b_04", "a_b_-4", "a_b_4 ", ".a_b_4.tmp_5x"})
    EXPECT_FALSE(parse_attachment_file_name(name)) << name;
}

TEST(AttachmentFilesTest, ARequestArrivesAsItWasSent) {
  const HookRequest request{"nic.example.com", "u1", "team", "web-0", ""};
  EXPECT_EQ(hook_request_from(to_message(request)), request);
}

TEST(AttachmentFilesTest, WhatNoHookSendsIsNoRequest) {
  for (const char* message :
       {"", "\n", "a\nb\nc\nd\n", "a\nb\nc\nd\ne", "a\nb\nc\nd\ne\nf\n", "\nb\nc\nd\ne\n", "a\n\nc\nd\ne\n"})
    EXPECT_FALSE(hook_request_from(message)) << message;
}

}  // namespace
}  // namespace cardcage
