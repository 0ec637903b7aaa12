// The process belongs to the host [R9]. Every rule judges the same observed life of an instance.
#include <fmt/ranges.h>

#include "host/conformance/rules.h"

namespace cardcage::rules {
namespace {

// `breach` describes the module's misbehaviour, or is empty.
template <class Describe>
Task<Outcome> judge(Trial& trial, Describe breach) {
  if (trial.request().in_process) co_return skipped(kNoWorker);
  const auto life = co_await trial.life();
  if (!life) co_return broken(life.error());
  std::string found = breach(*life);
  if (found.empty()) co_return passed("");
  if (trial.identity()->process_only) co_return skipped("CAGE_MODULE_PROCESS_ONLY allows it: " + found);
  co_return broken(std::move(found));
}

}  // namespace

Task<Outcome> leaves_no_thread(Trial& trial) {
  return judge(trial, [](const ObservedLife& life) { return new_threads(life.loaded, life.destroyed); });
}

Task<Outcome> leaves_no_descriptor(Trial& trial) {
  return judge(trial, [](const ObservedLife& life) { return new_descriptors(life.loaded, life.destroyed); });
}

Task<Outcome> its_threads_block_signals(Trial& trial) {
  return judge(trial, [](const ObservedLife& life) { return threads_that_take_signals(life.loaded, life.running); });
}

Task<Outcome> its_descriptors_close_on_exec(Trial& trial) {
  return judge(trial, [](const ObservedLife& life) { return descriptors_for_children(life.loaded, life.running); });
}

Task<Outcome> starts_no_process(Trial& trial) {
  return judge(trial, [](const ObservedLife& life) {
    const std::size_t children = std::max(life.running.children.size(), life.destroyed.children.size());
    if (children > 0) return fmt::format("child processes: {}", children);
    const bool ended = life.destroyed.ended_children > life.loaded.ended_children;
    return std::string(ended ? "a child process, which has ended" : "");
  });
}

Task<Outcome> changes_no_settings(Trial& trial) {
  return judge(trial, [](const ObservedLife& life) {
    std::string changes = changed_settings(life.loaded, life.running);
    return changes.empty() ? changed_settings(life.loaded, life.destroyed) : changes;
  });
}

Task<Outcome> prints_nothing(Trial& trial) {
  return judge(trial, [](const ObservedLife& life) {
    return life.printed.empty() ? std::string() : fmt::format("it printed '{}'", fmt::join(life.printed, " | "));
  });
}

}  // namespace cardcage::rules
