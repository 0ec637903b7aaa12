// The file and its table [R1, R2, R16].
#include <fmt/ranges.h>

#include "host/conformance/rules.h"
#include "host/model/abi_note.h"

namespace cardcage::rules {

Task<Outcome> is_accepted(Trial& trial) {
  const Status staged = co_await trial.stage();
  if (!staged) co_return broken(staged.error());
  co_return passed("sha256 " + trial.build()->sha256);
}

Task<Outcome> exports_only_its_entry(Trial& trial) {
  const ElfFacts& elf = trial.build()->elf;
  if (!elf.others.empty())
    co_return broken(fmt::format("it also exports {}: link with abi/module.map", fmt::join(elf.others, ", ")));
  co_return passed(fmt::format("{}", fmt::join(elf.entries, ", ")));
}

// Names the offered families that a later host may replace (abi/STABILITY.md).
static std::string drafts_of(const ModuleIdentity& identity) {
  std::vector<std::string_view> drafts;
  for_each_family([&](const auto& row) {
    if (identity.has(row.family) && is_draft(row.id)) drafts.emplace_back(row.id);
  });
  return drafts.empty() ? std::string() : fmt::format(", drafts: {}", fmt::join(drafts, ", "));
}

Task<Outcome> has_a_valid_table(Trial& trial) {
  const Status loaded = co_await trial.load();
  if (!loaded) co_return broken(loaded.error());
  const ModuleIdentity& identity = *trial.identity();
  std::size_t params = 0;
  for (const ParamsSchema& schema : identity.schemas) params += schema.fields.size();
  const std::string note = abi_note(identity.abi);
  co_return passed(fmt::format("{}, options: {}, parameters: {}{}{}",
                               note.empty() ? "ABI " + identity.abi.to_string() : note, identity.options.size(), params,
                               identity.schemas.size() > 1 ? fmt::format(" of {} kinds", identity.schemas.size()) : "",
                               drafts_of(identity)));
}

Task<Outcome> loads_without_threads(Trial& trial) {
  if (trial.request().in_process) co_return skipped(kNoWorker);
  const Status loaded = co_await trial.load();
  if (!loaded) co_return broken(loaded.error());
  // The worker's own threads: one runs the module, and the main thread stands in for it.
  constexpr std::size_t kWorkerThreads = 2;
  const auto& threads = trial.loaded_state().threads;
  if (threads.size() <= kWorkerThreads) co_return passed("");
  std::vector<std::string> names;
  for (const auto& [id, thread] : threads) names.push_back(fmt::format("'{}'", thread.name));
  co_return broken(fmt::format("{} threads run before create: {}", threads.size(), fmt::join(names, ", ")));
}

}  // namespace cardcage::rules
