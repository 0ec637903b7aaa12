// A process that becomes a service once the daemon has recorded it on disk and put it into its control group.
#pragma once

namespace cardcage {

// Waits for the daemon's command byte, then executes `command`: the path to execute, the name and the arguments of the
// program, a null pointer. Returns the exit status if the daemon has died or the program cannot be executed.
int become_service(char** command);

}  // namespace cardcage
