#include "host/sandbox/hook_file.h"

#include "host/core/file.h"

namespace cardcage {

static constexpr std::size_t kMaxProgram = 64u << 20;  // with sanitizers and symbols

Result<Hook> HookFile::hook_for(const std::string& driver, const std::string& claim_uid) const {
  if (auto installed = install(); !installed) return within(installed.error(), "cannot install the container hook");
  const std::filesystem::path file = folder_ / program_.filename();
  return Hook{.name = "createRuntime",
              .path = file,
              .args = {file, run_dir_, driver, claim_uid},
              .env = {},
              .timeout_seconds = {}};
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
