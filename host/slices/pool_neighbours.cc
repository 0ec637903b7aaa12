#include "host/slices/pool_neighbours.h"

#include <algorithm>

#include "host/core/log.h"

namespace cardcage {
namespace {

constexpr std::chrono::seconds kFirstLook{2};
constexpr std::chrono::hours kRareLook{1};
constexpr std::chrono::minutes kIntervalWhileShared{5};  // interval while a conflict lasts

}  // namespace

PoolNeighbours::PoolNeighbours(asio::io_context& core, Clock& clock, Cluster& cluster, Options options)
    : clock_(clock),
      cluster_(cluster),
      options_(std::move(options)),
      pause_(kFirstLook, kRareLook, options_.jitter_seed),
      changed_(core) {}

void PoolNeighbours::set_pools(std::vector<std::string> pools) {
  std::erase_if(pools, [this](const std::string& pool) { return pool.contains(options_.node_name); });
  if (pools == pools_) return;
  pools_ = std::move(pools);
  std::erase_if(found_, [this](const auto& entry) { return std::ranges::find(pools_, entry.first) == pools_.end(); });
  pause_.reset();
  changed_.wake();
}

Task<void> PoolNeighbours::run() {
  while (true) {
    while (pools_.empty()) co_await changed_.wait();
    const Duration pause = pause_.next();
    const Instant due = clock_.now() + (found_.empty() ? pause : std::min<Duration>(pause, kIntervalWhileShared));
    co_await changed_.wait_until(clock_, due);
    if (clock_.now() >= due) co_await check();
  }
}

Task<void> PoolNeighbours::check() {
  const auto published = co_await cluster_.list_pools(options_.driver, clock_.now() + options_.request_timeout);
  if (!published) {
    log(LogLevel::kDebug, "cannot check whether other nodes publish the same pools",
        {{"driver", options_.driver}, {"error", published.error().message}});
    co_return;
  }
  std::map<std::string, std::string> found;
  for (const PublishedPool& one : *published)
    if (one.node_name != options_.node_name && std::ranges::find(pools_, one.pool) != pools_.end())
      found.try_emplace(one.pool, one.node_name);
  for (const auto& [pool, node] : found)
    if (!found_.contains(pool))
      log(LogLevel::kWarn,
          "another node publishes slices of the same driver and pool, and the scheduler ignores those of one; "
          "give each node its own: leave the key pool out, or write $NODE_NAME into it",
          {{"driver", options_.driver}, {"pool", pool}, {"node", node}});
  found_ = std::move(found);
}

}  // namespace cardcage
