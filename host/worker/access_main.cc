// cardcage-access: makes one access to the hardware for the daemon that started it, and exits.
#include <fcntl.h>

#include <cstdio>

#include "host/wire/frame.h"
#include "host/worker/hardware_access.h"

int main() {
  if (::fcntl(cardcage::kWorkerSocket, F_GETFD) < 0) {
    std::fprintf(stderr, "cardcage-access is started by the cardcage daemon, for modules with the key `writes`\n");
    return 2;
  }
  return cardcage::make_access(cardcage::kWorkerSocket);
}
