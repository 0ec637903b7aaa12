#include "host/access/checked_program.h"

#include <fcntl.h>

#include <array>
#include <cerrno>

#include "host/access/variables.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFirstLine = 256;  // BINPRM_BUF_SIZE, the length that the kernel reads
constexpr std::string_view kBlanks = " \t";
constexpr int kMaxInterpreters = 5;  // the kernel's limit

Result<WalkedPath> find_program(const fs::path& path) {
  if (!path.is_absolute()) return fail(Code::kInvalidArgument, "it is not an absolute path");
  auto file = walk(path, check_step);
  if (!file) return file;
  if (!S_ISREG(file->about.st_mode)) return fail(Code::kInvalidArgument, "it is not a regular file");
  if (auto checked = check_file(*file); !checked) return std::unexpected(checked.error());
  return file;
}

// Returns the interpreter in the first line of a script; empty if the file is not a script.
Result<std::string> interpreter_of(const WalkedPath& file) {
  const UniqueFd fd(::openat(file.folder.get(), file.path.filename().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fail_errno(errno, "cannot open it");
  std::array<char, kFirstLine> bytes{};
  const ssize_t size = ::read(fd.get(), bytes.data(), bytes.size());
  if (size < 0) return fail_errno(errno, "cannot read it");
  std::string_view line(bytes.data(), static_cast<std::size_t>(size));
  if (!line.starts_with("#!")) return std::string();
  line = line.substr(0, line.find('\n'));
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks, 2), line.size()));
  return std::string(line.substr(0, line.find_first_of(kBlanks)));
}

}  // namespace

std::string CheckedProgram::path_by(int folder) const {
  return is_script_ ? file_.path.native() : fmt::format("/proc/self/fd/{}/{}", folder, file_.path.filename().native());
}

Result<CheckedProgram> check_program(const fs::path& path, const std::vector<std::string>& environment) {
  auto file = find_program(path);
  if (!file) return std::unexpected(file.error());
  auto interpreter = interpreter_of(*file);
  const bool is_script = interpreter && !interpreter->empty();
  // An interpreter may be a script as well.
  for (int depth = 0; interpreter && !interpreter->empty() && depth < kMaxInterpreters; ++depth) {
    const auto found = find_program(*interpreter);
    if (!found) return within(found.error(), "its interpreter '{}'", *interpreter);
    interpreter = interpreter_of(*found);
  }
  if (!interpreter) return std::unexpected(interpreter.error());
  for (const std::string& variable : environment) {
    if (name_of_variable(variable) != kPreload) continue;
    const auto found = find_program(variable.substr(kPreload.size() + 1));
    if (!found) return within(found.error(), "its library '{}'", variable.substr(kPreload.size() + 1));
  }
  return CheckedProgram(std::move(*file), is_script);
}

}  // namespace cardcage
