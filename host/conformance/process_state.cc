#include "host/conformance/process_state.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <array>
#include <charconv>
#include <sstream>

#include "host/core/file.h"
#include "host/core/process_stat.h"
#include "host/instance/lane_pool.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFile = 16u << 20, kMaxName = 64;
constexpr std::size_t kMaxNamed = 4;  // limit for one text
constexpr SignalSet bit(int signal) { return SignalSet{1} << (signal - 1); }
// The C library uses 32 to 34 for itself; SIGKILL and SIGSTOP cannot be blocked.
constexpr SignalSet kReserved = bit(SIGKILL) | bit(SIGSTOP) | bit(32) | bit(33) | bit(34);
// Device files without hardware.
constexpr std::array<std::string_view, 7> kNoHardware = {"/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
                                                         "/dev/urandom", "/dev/shm/", "/dev/pts/"};

// The value of a line "Name:\tvalue".
std::string line_of(const std::string& text, std::string_view name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ':')
      return line.substr(std::min(line.size(), line.find_first_not_of(" \t", name.size() + 1)));
  return "";
}

std::uint64_t number_of(const std::string& text, int base) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, base);
  return number;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
    found.push_back(entry->path());
  return found;
}

int file_number(const fs::path& path) { return static_cast<int>(number_of(path.filename(), 10)); }

// The page faults of the children that the process has waited for: each had at least one.
std::uint64_t faults_of_ended_children(const fs::path& process) {
  constexpr int kFaultsOfChildren = 11;
  return number_of(stat_field(process, kFaultsOfChildren), 10);
}

void read_threads(const fs::path& process, ProcessState& state) {
  for (const fs::path& task : entries(process / "task")) {
    const std::string status = read_file(task / "status", kMaxFile).value_or("");
    if (status.empty()) continue;  // it has ended
    state.threads[file_number(task)] = {printable(line_of(status, "Name"), kMaxName),
                                        number_of(line_of(status, "SigBlk"), 16)};
    std::istringstream children(read_file(task / "children", kMaxFile).value_or(""));
    for (pid_t child = 0; children >> child;) state.children.push_back(child);
  }
}

void read_descriptors(const fs::path& process, ProcessState& state) {
  for (const fs::path& link : entries(process / "fd")) {
    std::error_code closed;
    const fs::path target = fs::read_symlink(link, closed);
    const std::string info = read_file(process / "fdinfo" / link.filename(), kMaxFile).value_or("");
    if (closed || info.empty()) continue;  // the process has closed it meanwhile
    state.descriptors[file_number(link)] = {printable(target.native(), fs::path::string_type::npos),
                                            (number_of(line_of(info, "flags"), 8) & O_CLOEXEC) != 0};
  }
}

bool is_hardware(std::string_view path) {
  for (const std::string_view other : kNoHardware)
    if (path.starts_with(other)) return false;
  return path.starts_with("/dev/") || path.starts_with("/sys/");
}

void read_mappings(const fs::path& process, ProcessState& state) {
  std::istringstream lines(read_file(process / "maps", kMaxFile).value_or(""));
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t path = line.find('/'); path != std::string::npos && is_hardware(line.substr(path)))
      state.mappings.insert(line.substr(path));
}

// "a, b, c, d and 3 more"
std::string named(const std::vector<std::string>& things) {
  if (things.size() <= kMaxNamed) return fmt::format("{}", fmt::join(things, ", "));
  const std::vector<std::string> first(things.begin(), things.begin() + kMaxNamed);
  return fmt::format("{} and {} more", fmt::join(first, ", "), things.size() - kMaxNamed);
}

std::string signal_names(SignalSet signals) {
  std::vector<std::string> names;
  for (int signal = 1; signal <= 64; ++signal) {
    if ((signals & bit(signal)) == 0) continue;
    const char* const name = ::sigabbrev_np(signal);
    names.push_back(name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal));
  }
  return named(names);
}

template <class Choose>
std::string describe_new_threads(const ProcessState& before, const ProcessState& after, Choose choose) {
  std::vector<std::string> found;
  for (const auto& [id, thread] : after.threads)
    if (!before.threads.contains(id) && thread.name != kClaimThread && choose(thread))
      found.push_back(fmt::format("thread '{}'", thread.name));
  return named(found);
}

template <class Choose>
std::string describe_new_descriptors(const ProcessState& before, const ProcessState& after, Choose choose) {
  std::vector<std::string> found;
  for (const auto& [number, descriptor] : after.descriptors) {
    const auto known = before.descriptors.find(number);
    const bool is_new = known == before.descriptors.end() || known->second.target != descriptor.target;
    if (is_new && choose(descriptor)) found.push_back(fmt::format("descriptor {} ({})", number, descriptor.target));
  }
  return named(found);
}

}  // namespace

Result<ProcessState> read_process(pid_t pid, const fs::path& proc) {
  const fs::path process = proc / std::to_string(pid);
  const auto status = read_file(process / "status", kMaxFile);
  if (!status) return std::unexpected(status.error());
  ProcessState state;
  state.caught = number_of(line_of(*status, "SigCgt"), 16) & ~kReserved;
  state.ignored = number_of(line_of(*status, "SigIgn"), 16) & ~kReserved;
  state.umask = line_of(*status, "Umask");
  std::error_code gone;
  state.folder = printable(fs::read_symlink(process / "cwd", gone).native(), fs::path::string_type::npos);
  state.ended_children = faults_of_ended_children(process);
  read_threads(process, state);
  read_descriptors(process, state);
  read_mappings(process, state);
  return state;
}

std::string new_threads(const ProcessState& before, const ProcessState& after) {
  return describe_new_threads(before, after, [](const ThreadState&) { return true; });
}

std::string new_descriptors(const ProcessState& before, const ProcessState& after) {
  return describe_new_descriptors(before, after, [](const DescriptorState&) { return true; });
}

std::string threads_that_take_signals(const ProcessState& before, const ProcessState& after) {
  return describe_new_threads(before, after, [](const ThreadState& thread) { return ~(thread.blocked | kReserved); });
}

std::string descriptors_for_children(const ProcessState& before, const ProcessState& after) {
  return describe_new_descriptors(before, after,
                                  [](const DescriptorState& descriptor) { return !descriptor.close_on_exec; });
}

std::string changed_settings(const ProcessState& before, const ProcessState& after) {
  std::vector<std::string> changes;
  if (const SignalSet changed = (before.caught ^ after.caught) | (before.ignored ^ after.ignored); changed != 0)
    changes.push_back("the handling of " + signal_names(changed));
  // A worker begins with an empty mask, so nothing can be unblocked. A thread that is being created blocks all.
  SignalSet masked = 0;
  for (const auto& [id, thread] : after.threads)
    if (const auto known = before.threads.find(id); known != before.threads.end())
      masked |= thread.blocked & ~known->second.blocked;
  if (masked != 0) changes.push_back("the mask of " + signal_names(masked));
  if (before.umask != after.umask) changes.push_back(fmt::format("umask {} to {}", before.umask, after.umask));
  if (before.folder != after.folder)
    changes.push_back(fmt::format("working folder '{}' to '{}'", before.folder, after.folder));
  return fmt::format("{}", fmt::join(changes, ", "));
}

std::string open_hardware(const ProcessState& before, const ProcessState& after) {
  std::string open = describe_new_descriptors(
      before, after, [](const DescriptorState& descriptor) { return is_hardware(descriptor.target); });
  std::vector<std::string> mapped;
  for (const std::string& path : after.mappings)
    if (!before.mappings.contains(path)) mapped.push_back("mapping of " + path);
  if (!open.empty() && !mapped.empty()) open += ", ";
  return open + named(mapped);
}

}  // namespace cardcage
