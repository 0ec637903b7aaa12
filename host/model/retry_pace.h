// How soon calls to the API server are tried again after it could not be reached.
#pragma once

#include <chrono>

namespace cardcage {

// After an outage, retries come at a random time within this span of the first call that succeeds, because all nodes
// notice the end within seconds. Claims come at once, since pods wait for them. Lists and watches cost the server most,
// so they are spread furthest: 10,000 nodes come back at 500 a second, each with a TLS handshake. A longer time would
// leave a node without slices for as long if its kubelet starts together with the API server, and wipes them
// (docs/decisions/0046-one-watch-per-node.md).
constexpr std::chrono::seconds kSpreadOfClaims{0}, kSpreadOfWrites{1}, kSpreadOfLists{20};

// The longest pause, except for lists and watches, while no call reaches the server: an attempt costs it nothing.
constexpr std::chrono::seconds kPauseWhileAway{1};

// A shorter watch counts as failed, so that a server that ends watches at once is not called in a tight loop.
constexpr std::chrono::seconds kMinWatchTime{5};

}  // namespace cardcage
