#include "host/worker/service.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "host/wire/frame.h"

namespace cardcage {

int become_service(char** command) {
  char word = 0;
  if (::recv(kWorkerSocket, &word, 1, 0) != 1) return EXIT_FAILURE;
  if (word == kServiceStartTied) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int fd : {kWorkerSocket, kServiceFolder}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ::execv(command[0], command + 1);
  const char* const why = ::strerror(errno);  // NOLINT(concurrency-mt-unsafe): there is one thread
  ::send(kWorkerSocket, why, std::strlen(why), MSG_NOSIGNAL);
  return EXIT_FAILURE;
}

}  // namespace cardcage
