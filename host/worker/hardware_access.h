// Makes one access to the hardware in a process of its own and exits: the kernel may hold this process forever, but
// must not hold the daemon or a module.
#pragma once

namespace cardcage {

// Receives a wire::Access on the socket, makes it and sends the wire::AccessResult. Returns the exit status.
int make_access(int socket);

}  // namespace cardcage
