// gRPC as a library of the process.
#pragma once

namespace cardcage {

// [any-thread] Keeps gRPC up until the process ends; call it before the first channel or server. Otherwise the last
// channel that goes takes gRPC down with it, and waits in its destructor for gRPC's threads: 1 s for the event engine,
// 10 s for the TCP poller.
void hold_grpc();

}  // namespace cardcage
