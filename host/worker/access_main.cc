// cardcage-access: makes one access to the hardware for the daemon that started it, and exits.
#include "host/wire/frame.h"
#include "host/worker/hardware_access.h"

int main() { return cardcage::make_access(cardcage::kWorkerSocket); }
