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

int become_service(int socket, char** command) {
  char word = 0;
  if (::recv(socket, &word, 1, 0) != 1) return EXIT_FAILURE;
  if (word == kServiceStartTied) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
  const char* const file = command[0];
  char* const slash = std::strrchr(command[0], '/');
  if (slash != nullptr) command[0] = slash + 1;
  ::execv(file, command);
  const char* const why = ::strerror(errno);  // NOLINT(concurrency-mt-unsafe): there is one thread
  ::send(socket, why, std::strlen(why), MSG_NOSIGNAL);
  return EXIT_FAILURE;
}

}  // namespace cardcage
