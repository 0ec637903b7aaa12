#include "host/sandbox/hook_file.h"

#include "host/core/file.h"
#include "host/hook/hook_request.h"

namespace cardcage {

static constexpr std::size_t kMaxProgram = 64u << 20;  // with sanitizers and symbols

Result<Hook> HookFile::sandbox_hook(const std::string& driver, const std::string& claim_uid) const {
  return hook_with({run_dir_, driver, claim_uid});
}

Result<Hook> HookFile::memory_hook(std::uint64_t bytes) const {
  return hook_with({std::string(kLockMemory), std::to_string(bytes)});
}

Result<Hook> HookFile::hook_with(const std::vector<std::string>& arguments) const {
  if (auto installed = install(); !installed) return within(installed.error(), "cannot install the container hook");
  Hook hook{
      .name = "createRuntime", .path = folder_ / program_.filename(), .args = {}, .env = {}, .timeout_seconds = {}};
  hook.args.push_back(hook.path);
  hook.args.insert(hook.args.end(), arguments.begin(), arguments.end());
  return hook;
}

Status HookFile::install() const {
  const std::filesystem::path file = folder_ / program_.filename();
  const FileStamp ours = stamp_of(program_), theirs = stamp_of(file);
  if (ours.size == theirs.size && theirs.modified_ns > ours.modified_ns) return {};
  const auto content = read_file(program_, kMaxProgram);
  if (!content) return within(content.error(), "install cardcage-hook beside cardcage");
  if (auto made = make_folder(folder_, 0755); !made) return made;
  return write_file_atomically(file, *content, 0755);
}

}  // namespace cardcage
