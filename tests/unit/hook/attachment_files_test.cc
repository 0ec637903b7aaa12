// The files that the daemon leaves for the hook, and the hook's request.
#include "host/hook/attachment_files.h"

#include <gmock/gmock.h>

#include <fstream>

#include "host/hook/hook_request.h"
#include "sim/scratch_folder.h"

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
  const HookRequest request{"nic.example.com", "u1", "team", "web-0", "", "77aa"};
  EXPECT_EQ(hook_request_from(to_message(request)), request);
}

TEST(AttachmentFilesTest, ARequestOfTheFirstProtocolNamesNoSandbox) {
  const HookRequest request{"nic.example.com", "u1", "team", "web-0", "u", ""};
  EXPECT_EQ(hook_request_from("nic.example.com\nu1\nteam\nweb-0\nu\n"), request);
  EXPECT_EQ(hook_request_from(to_first_message(request)), request);
}

TEST(AttachmentFilesTest, ARequestOfALaterProtocolIsRefusedWithTheRemedy) {
  const auto request = hook_request_from("cardcage-hook/3\nnic.example.com\nu1\n");
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().message,
            "the container hook speaks protocol cardcage-hook/3 and this cardcage cardcage-hook/2; restart cardcage, "
            "which installs its own hook");
}

TEST(AttachmentFilesTest, AFileTellsThePodItsSandboxAndItsInterfaces) {
  const ScratchFolder folder;
  const Attachment attachment{"nic.example.com", "u1", 4026532281};
  const AttachedPod pod{.uid = "u", .sandbox = "77aa", .interfaces = {"net1", "net2"}};
  std::ofstream(folder / attachment_file_name(attachment)) << to_text(pod);
  EXPECT_EQ(read_attachment(folder.path(), attachment), pod);
  std::ofstream(folder / attachment_file_name(attachment)) << "u\nnet1\n";
  EXPECT_EQ(read_attachment(folder.path(), attachment),
            (AttachedPod{.uid = "u", .sandbox = "", .interfaces = {"net1"}}))
      << "as in the first protocol";
}

TEST(AttachmentFilesTest, WhatNoHookSendsIsNoRequest) {
  for (const char* message :
       {"", "\n", "a\nb\nc\nd\n", "a\nb\nc\nd\ne", "a\nb\nc\nd\ne\nf\n", "\nb\nc\nd\ne\n", "a\n\nc\nd\ne\n",
        "cardcage-hook/2", "cardcage-hook/2\n", "cardcage-hook/2\na\nb\nc\nd\ne\n",
        "cardcage-hook/2\na\nb\nc\nd\ne\nf\ng\n", "cardcage-hook/2\n\nb\nc\nd\ne\nf\n"})
    EXPECT_FALSE(hook_request_from(message)) << message;
}

}  // namespace
}  // namespace cardcage
