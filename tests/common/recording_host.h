// A host for parts of a module: records the programs and writes that they request, and the edits of containers.
#pragma once

#include <cardcage/sdk.hpp>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cardcage {

class RecordingHost {
 public:
  RecordingHost() {
    host_.struct_size = sizeof host_;
    host_.host_data = this;
    host_.log_enabled = [](const cage_host*, std::uint32_t) { return std::int32_t{0}; };
    host_.extension = [](const cage_host* host, const char* id) -> const void* {
      const auto& self = *static_cast<RecordingHost*>(host->host_data);
      if (std::string_view(id) == CAGE_HOST_EXEC) return self.has_programs ? &kExec : nullptr;
      return std::string_view(id) == CAGE_HOST_WRITE ? &kWrite : nullptr;
    };
    call_.struct_size = sizeof call_;
    call_.host_data = this;
    call_.cancel_fd = -1;
    call_.cancelled = [](const cage_call*) { return std::int32_t{0}; };
    call_.explain = [](const cage_call*, cage_str) {};
    call_.progress = [](const cage_call*, std::uint32_t, cage_str) {};
    call_.explained = [](const cage_call* call) {
      return cage::detail::raw(static_cast<RecordingHost*>(call->host_data)->explanation_);
    };
  }
  RecordingHost(const RecordingHost&) = delete;

  cage::Host host() const { return cage::Host(&host_); }
  cage::Call call() const { return cage::Call(&call_); }

  using Result = cage::ProgramResult;
  bool has_programs = true;
  std::function<Result(const std::vector<std::string>& command)> on_run = [](const auto&) { return succeeded(); };
  // May throw cage::Error, as the host does if a write fails.
  std::function<void(const std::string& path, const std::string& data)> on_write = [](const auto&, const auto&) {};
  std::vector<std::vector<std::string>> commands;  // the name of the program, then its arguments
  std::vector<std::pair<std::string, std::string>> writes;

  static Result succeeded() {
    Result result;
    result.exit_status = 0;
    return result;
  }
  static Result failed(std::string err) {
    Result result;
    result.exit_status = 1;
    result.err = std::move(err);
    return result;
  }

 private:
  static cage_status run(const cage_host* host, const cage_call*, const cage_command* command, void* user,
                         cage_command_ended ended) {
    auto& self = *static_cast<RecordingHost*>(host->host_data);
    std::vector<std::string> words{std::string(cage::detail::view(command->program))};
    for (std::uint32_t i = 0; i < command->arg_count; ++i) words.emplace_back(cage::detail::view(command->args[i]));
    self.commands.push_back(words);
    const Result result = self.on_run(words);
    cage_command_result raw{};
    raw.struct_size = sizeof raw;
    raw.flags = result.timed_out ? CAGE_COMMAND_TIMED_OUT : 0;
    raw.exit_status = result.exit_status;
    raw.signal = result.signal;
    raw.out = {result.out.data(), result.out.size()};
    raw.err = {result.err.data(), result.err.size()};
    ended(user, &raw);
    return CAGE_OK;
  }
  static cage_status write(const cage_host* host, const cage_call*, const cage_file_write* write) {
    auto& self = *static_cast<RecordingHost*>(host->host_data);
    const std::string path(cage::detail::view(write->path)),
        data(static_cast<const char*>(write->data.data), write->data.size);
    self.writes.emplace_back(path, data);
    try {
      self.on_write(path, data);
    } catch (const cage::Error& error) {
      self.explanation_ = error.what();
      return error.status();
    }
    return CAGE_OK;
  }
  static constexpr cage_exec kExec{sizeof(cage_exec), 0, run};
  static constexpr cage_write kWrite{sizeof(cage_write), 0, write, nullptr, nullptr};

  cage_host host_{};
  cage_call call_{};
  std::string explanation_;
};

// The edits of a container.
class RecordedEdits {
 public:
  RecordedEdits() {
    sink_.struct_size = sizeof sink_;
    sink_.host_data = this;
    sink_.device_node = [](cage_edits* sink, std::int32_t, const cage_device_node* node) {
      const auto numbers = std::to_string(node->major) + ":" + std::to_string(node->minor);
      self(sink).nodes[std::string(cage::detail::view(node->path))] = node->major < 0 ? "" : numbers;
      return cage_status{CAGE_OK};
    };
    sink_.env_list = [](cage_edits* sink, std::int32_t, cage_str key, cage_str value) {
      self(sink).environment[std::string(cage::detail::view(key))] = cage::detail::view(value);
      return cage_status{CAGE_OK};
    };
  }
  RecordedEdits(const RecordedEdits&) = delete;

  cage::Edit edit() { return cage::Edit(&sink_, 0); }

  std::map<std::string, std::string> nodes;  // with their numbers, such as "226:128", if set
  std::map<std::string, std::string> environment;

 private:
  static RecordedEdits& self(cage_edits* sink) { return *static_cast<RecordedEdits*>(sink->host_data); }

  cage_edits sink_{};
};

// The attributes of a device that are texts or versions.
inline std::map<std::string, std::string> attributes_of(cage::Device device) {
  std::map<std::string, std::string> attributes;
  cage_snapshot sink{};
  sink.struct_size = sizeof sink;
  sink.host_data = &attributes;
  sink.extension = [](cage_snapshot*, const char*) -> const void* { return nullptr; };
  sink.device = [](cage_snapshot* to, const cage_device* from) {
    auto& found = *static_cast<std::map<std::string, std::string>*>(to->host_data);
    for (std::uint32_t i = 0; i < from->attr_count; ++i)
      found[std::string(cage::detail::view(from->attrs[i].name))] = cage::detail::view(from->attrs[i].v.s);
    return cage_status{CAGE_OK};
  };
  cage::Snapshot(&sink).add(device);
  return attributes;
}

}  // namespace cardcage
