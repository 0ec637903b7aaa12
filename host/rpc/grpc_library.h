// Keeps the gRPC library running.
#pragma once

namespace cardcage {

// [any-thread] Keeps gRPC running until the process ends; call it before the first channel or server is created.
// Otherwise the destructor of the last channel shuts gRPC down and waits for its threads: 1 s for the event engine, 10
// s for the TCP poller.
void hold_grpc();

}  // namespace cardcage
