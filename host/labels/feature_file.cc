#include "host/labels/feature_file.h"

#include <algorithm>
#include <map>

#include "host/core/file.h"
#include "host/core/log.h"

namespace cardcage {
namespace {

// MaxFeatureFileSize of NFD's source/local/local.go.
constexpr std::size_t kMaxFile = 65536;
// NFD's process, which reads the file, runs as another user.
constexpr mode_t kMode = 0644;
// For NFD a comment, for the next daemon the module of the labels that follow.
constexpr std::string_view kModule = "# module ";

}  // namespace

FeatureText feature_text(std::vector<ModuleLabels> modules) {
  struct Written {
    std::string value, module;
  };
  std::ranges::sort(modules, {}, &ModuleLabels::module);
  std::map<std::string, Written> written;
  FeatureText made;
  std::string text = "# Written by cardcage from what its modules report.\n";
  for (const ModuleLabels& module : modules) {
    std::string head = fmt::format("{}{}\n", kModule, module.module);
    for (const auto& [name, value] : module.labels.values) {
      const auto [first, is_new] = written.try_emplace(name, Written{value, module.module});
      if (!is_new && first->second.value != value)
        made.left_out.push_back(fmt::format("label '{}' of module '{}': module '{}' has it with another value", name,
                                            module.module, first->second.module));
      if (!is_new) continue;
      const std::string line = fmt::format("{}{}={}\n", head, name, value);
      if (text.size() + line.size() > kMaxFile) {
        made.left_out.push_back(
            fmt::format("label '{}' of module '{}': the file would exceed 64 KiB", name, module.module));
        continue;
      }
      text += line;
      head.clear();
      ++made.labels;
    }
  }
  if (made.labels > 0) made.text = std::move(text);
  return made;
}

std::map<std::string, NodeLabels> labels_in(std::string_view text) {
  std::map<std::string, NodeLabels> found;
  NodeLabels* module = nullptr;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t equals = line.find('=');
    if (line.starts_with(kModule))
      module = &found[std::string(line.substr(kModule.size()))];
    else if (module != nullptr && !line.starts_with('#') && equals != std::string_view::npos)
      module->values.insert_or_assign(std::string(line.substr(0, equals)), std::string(line.substr(equals + 1)));
  }
  return found;
}

FeatureFile::FeatureFile(const std::filesystem::path& folder, const std::string& instance)
    : path_(folder.empty() ? folder : folder / (instance.empty() ? "cardcage" : "cardcage-" + instance)) {}

void FeatureFile::update(std::vector<ModuleLabels> modules) {
  if (path_.empty()) return;
  keep_previous(modules);
  const FeatureText wanted = feature_text(std::move(modules));
  for (const std::string& one : wanted.left_out) log_limited(LogLevel::kWarn, one, "node label is left out: " + one);
  if (wanted.text.empty()) {
    std::error_code failed;
    std::filesystem::remove(path_, failed);
    condition_.reset();
    if (failed && failed != std::errc::not_a_directory)
      condition_ = {Level::kBad, "failing",
                    fmt::format("cannot remove '{}': {}; remove it", path_.native(), failed.message())};
    last_.clear();
    return;
  }
  std::error_code ignored;
  if (!std::filesystem::is_directory(path_.parent_path(), ignored)) {
    last_.clear();
    condition_ = {Level::kInProgress, "absent",
                  fmt::format("no folder '{}': install Node Feature Discovery and mount its folder, or set "
                              "node.features_dir",
                              path_.parent_path().native())};
    return;
  }
  if (const Status written = write(wanted.text); !written) {
    condition_ = {Level::kBad, "failing", fmt::format("{}; it is tried again", written.error().message)};
    log_limited(LogLevel::kError, "node labels", "node labels are not written", {{"error", written.error().message}});
    return;
  }
  condition_ = {Level::kGood, "written", ""};
  if (last_ != wanted.text)
    log(LogLevel::kInfo, "node labels are written", {{"file", path_.native()}, {"labels", wanted.labels}});
  last_ = wanted.text;
}

void FeatureFile::keep_previous(std::vector<ModuleLabels>& modules) {
  if (!previous_) previous_ = labels_in(read_file(path_, kMaxFile).value_or(""));
  std::map<std::string, NodeLabels> kept;
  for (ModuleLabels& module : modules) {
    const auto before = previous_->find(module.module);
    if (module.known || before == previous_->end()) continue;
    module.labels = before->second;
    kept.insert(*before);
  }
  previous_ = std::move(kept);
}

Status FeatureFile::write(const std::string& text) const {
  if (const auto there = read_file(path_, kMaxFile); there && *there == text) return {};
  return write_file_atomically(path_, text, kMode, /*durable=*/false);
}

}  // namespace cardcage
