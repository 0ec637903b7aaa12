// A process that becomes a service once the daemon has it on disk and in its control group.
#pragma once

namespace cardcage {

// Waits for the daemon's word on `socket`, then executes `command`, which begins with the path of the program and ends
// with a null pointer. Returns the exit status if the daemon has died or the program cannot be executed.
int become_service(int socket, char** command);

}  // namespace cardcage
