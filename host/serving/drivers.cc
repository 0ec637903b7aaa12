#include "host/serving/drivers.h"

#include <algorithm>

#include "host/cdi/names.h"

namespace cardcage {
namespace {

// Of a driver that nobody would miss.
constexpr Duration kStopLimit = std::chrono::seconds(2);

}  // namespace

void Drivers::configure(const std::set<std::string>& affected) {
  configured_.clear();
  for (const ModuleConfig& module : context_.config.modules)
    for (const ServeConfig& rule : module.serve)
      if (rule.api == Api::kDra) configured_.insert(rule.driver);
  std::set<std::string> names = configured_;
  for (const auto& [key, record] : context_.ledger.claims())
    if (!is_resource(key.driver)) names.insert(key.driver);
  for (const std::string& name : names) {
    auto& driver = drivers_[name];
    if (!driver) driver = std::make_unique<Driver>(name, context_);
  }
  for (const auto& [name, driver] : drivers_) {
    driver->set_deadlines(context_.config.deadlines);
    if (affected.contains(name)) driver->refresh_soon();
  }
}

void Drivers::refresh(const Supervisor& supervisor) {
  for (const ServeConfig& rule : supervisor.config().serve)
    if (const auto entry = drivers_.find(rule.driver); entry != drivers_.end()) entry->second->refresh_soon();
}

Task<void> Drivers::tidy() {
  for (const auto& [name, driver] : drivers_) {
    const bool over = !configured(name) && driver->running() && driver->idle();
    if (over) co_await driver->stop(context_.clock.now() + kStopLimit);
    if (configured(name) && !driver->running()) driver->start();
  }
}

bool Drivers::untidy() const {
  return std::ranges::any_of(drivers_,
                             [this](const auto& entry) { return configured(entry.first) != entry.second->running(); });
}

Task<void> Drivers::stop(Instant deadline) {
  for (const auto& [name, driver] : drivers_) co_await driver->stop(deadline);
}

std::vector<const Driver*> Drivers::all() const {
  std::vector<const Driver*> all;
  for (const auto& [name, driver] : drivers_)
    if (configured(name) || driver->running()) all.push_back(driver.get());
  return all;
}

}  // namespace cardcage
