// The raw host's families, which record every request of a module.
#include "tests/abi/raw_families.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/abi/raw_host.h"

namespace cardcage::raw {
namespace {

// The text of a command: "tool -q all | A=b | 1500 ms".
std::string text_of(const cage_command& command) {
  expect_size(command);
  std::string text = owned(command.program);
  for (std::uint32_t i = 0; i < command.arg_count; ++i) text += " " + owned(command.args[i]);
  for (std::uint32_t i = 0; i < command.env_count; ++i) text += " | " + owned(command.env[i]);
  if (command.input.size > 0) text += " < " + owned({static_cast<const char*>(command.input.data), command.input.size});
  return fmt::format("{} | {} ms", text, command.timeout_ms);
}

// The program "absent" does not start.
const cage_service kService = {
    sizeof(cage_service), 0,
    [](const cage_host* self, const cage_call* call, cage_str name, const cage_command* command) -> cage_status {
      if (owned(command->program) == "absent") {
        call->explain(call, str("no such program"));
        return CAGE_NOT_FOUND;
      }
      static_cast<Host*>(self->host_data)
          ->services.push_back(fmt::format("start {}: {}", owned(name), text_of(*command)));
      return CAGE_OK;
    },
    [](const cage_host* self, const cage_call*, cage_str name) -> cage_status {
      static_cast<Host*>(self->host_data)->services.push_back("stop " + owned(name));
      return CAGE_OK;
    }};

// Every program prints its name and exits with status 3; "absent" does not start.
const cage_exec kExec = {sizeof(cage_exec), 0,
                         [](const cage_host* self, const cage_call* call, const cage_command* command, void* user,
                            cage_command_ended ended) -> cage_status {
                           static_cast<Host*>(self->host_data)->programs.push_back(text_of(*command));
                           if (owned(command->program) == "absent") {
                             call->explain(call, str("no such program"));
                             return CAGE_NOT_FOUND;
                           }
                           cage_command_result result{};
                           result.struct_size = sizeof result;
                           result.flags = CAGE_COMMAND_CUT;
                           result.exit_status = 3;
                           result.out = {command->program.data, command->program.size};
                           ended(user, &result);
                           return CAGE_OK;
                         }};

// Every access succeeds, and an ioctl adds one to the first byte of its argument; device "stuck" is stuck.
cage_status note_access(const cage_host* self, const cage_call* call, cage_str device, const std::string& text) {
  static_cast<Host*>(self->host_data)->accesses.push_back(owned(device) + ": " + text);
  if (owned(device) != "stuck") return CAGE_OK;
  call->explain(call, str("the device is stuck"));
  return CAGE_UNAVAILABLE;
}
cage_status note_line(const cage_host* self, const std::string& line) {
  self->log(self, CAGE_LOG_INFO, str(line));
  return CAGE_OK;
}
const cage_poll kPoll = {
    sizeof(cage_poll), 0,
    [](const cage_host* self, std::int32_t descriptor) { return note_line(self, fmt::format("polls {}", descriptor)); },
    [](const cage_host* self, std::int32_t descriptor) {
      return note_line(self, fmt::format("polls {} no more", descriptor));
    }};
const cage_write kWrite = {
    sizeof(cage_write), 0,
    [](const cage_host* self, const cage_call* call, const cage_file_write* write) {
      expect_size(*write);
      const std::string data(static_cast<const char*>(write->data.data), write->data.size);
      return note_access(self, call, write->device_id,
                         fmt::format("{} = {} within {} ms", owned(write->path), data, write->timeout_ms));
    },
    [](const cage_host* self, const cage_call* call, const cage_ioctl* ioctl) {
      expect_size(*ioctl);
      ++*static_cast<unsigned char*>(ioctl->argument);
      return note_access(self, call, ioctl->device_id,
                         fmt::format("{} {:#x} of {} bytes, {} from {} at {}, {}, flags {}", owned(ioctl->path),
                                     ioctl->request, ioctl->argument_size, owned(ioctl->data_path), ioctl->data_start,
                                     ioctl->data_offset, owned(ioctl->data_sha256), ioctl->flags));
    },
    [](const cage_host* self, const cage_call* call, cage_str device, cage_str address, cage_str driver) {
      return note_access(self, call, device, fmt::format("{} to '{}'", owned(address), owned(driver)));
    }};

}  // namespace

const void* family_of_host(std::string_view id) {
  if (id == CAGE_HOST_WRITE) return &kWrite;
  if (id == CAGE_HOST_POLL) return &kPoll;
  if (id == CAGE_HOST_SERVICE) return &kService;
  return id == CAGE_HOST_EXEC ? &kExec : nullptr;
}

}  // namespace cardcage::raw
