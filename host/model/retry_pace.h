// How soon calls to the API server are tried again after it could not be reached.
#pragma once

#include <chrono>

namespace cardcage {

// The time within which retries follow the first call that succeeds, at random: all nodes notice the end of an outage
// within seconds. Pods wait for claims. Lists and watches cost the server most
// (docs/decisions/0046-one-watch-per-node.md).
constexpr std::chrono::seconds kSpreadOfClaims{0}, kSpreadOfWrites{1}, kSpreadOfLists{20};

// The longest pause, except for lists and watches, while no call reaches the server: an attempt costs it nothing.
constexpr std::chrono::seconds kPauseWhileAway{1};

}  // namespace cardcage
