// Passes the labels that modules report for the node to Node Feature Discovery, as one feature file:
// https://kubernetes-sigs.github.io/node-feature-discovery/stable/usage/customization-guide.html#local-feature-source
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/core/result.h"
#include "host/model/condition.h"
#include "host/model/report.h"

namespace cardcage {

struct ModuleLabels {
  std::string module;
  NodeLabels labels;
  bool known = true;  // false: the module has not told its labels to this daemon yet
};

struct FeatureText {
  std::string text;  // empty without labels
  std::size_t labels = 0;
  std::vector<std::string> left_out;  // labels and the reasons
};
// The labels of each module follow a comment with its name. If two want different values of one label, the first by
// name wins. NFD ignores files of more than 64 KiB, so labels beyond that are left out.
FeatureText feature_text(std::vector<ModuleLabels> modules);
// The labels of each module in such a text. Unknown lines are left out.
std::map<std::string, NodeLabels> labels_in(std::string_view text);

// [core] The file outlives the daemon, so that labels stay while it restarts.
class FeatureFile {
 public:
  // `folder` is the features.d of NFD; empty = no labels. `instance` as in the configuration.
  FeatureFile(const std::filesystem::path& folder, const std::string& instance);

  // Writes the labels of all modules if the file has others, or removes the file if there are none. A module that is
  // not known yet keeps the labels that the previous daemon wrote. Call it repeatedly, because the folder may appear,
  // be full or lose the file.
  void update(std::vector<ModuleLabels> modules);

  // "written"; "absent" without the folder; "failing". Nothing without labels.
  const std::optional<Condition>& condition() const { return condition_; }

 private:
  void keep_previous(std::vector<ModuleLabels>& modules);
  Status write(const std::string& text) const;

  const std::filesystem::path path_;  // empty = none
  std::optional<Condition> condition_;
  std::string last_;  // the text last written
  // The labels that the previous daemon wrote, by module, until the module is known or not among the others. Nothing
  // before the first update.
  std::optional<std::map<std::string, NodeLabels>> previous_;
};

}  // namespace cardcage
