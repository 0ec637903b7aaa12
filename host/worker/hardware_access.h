// A process that makes one access to the hardware and exits: the kernel may hold it for ever, as it may not hold the
// daemon or a module.
#pragma once

namespace cardcage {

// Receives a wire::Access on the socket, makes it and sends the wire::AccessResult. Returns the exit status.
int make_access(int socket);

}  // namespace cardcage
