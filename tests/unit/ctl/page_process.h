// `cagectl web` as an operator's shell runs it, and the browser of the operator.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/fakes/raw_client.h"

namespace cardcage {

class PageProcess {
 public:
  // Starts `cagectl web`, waits until it prints its address, and opens the address.
  explicit PageProcess(const std::string& socket, const std::vector<std::string>& options = {});
  ~PageProcess();
  PageProcess(const PageProcess&) = delete;
  PageProcess& operator=(const PageProcess&) = delete;

  // The printed address and note.
  const std::string& printed() const { return printed_; }
  // Returns the whole response.
  std::string get(const std::string& path) const;
  std::string post(const std::string& path, const std::string& body) const;
  // Opens the stream of events; returns after its header.
  std::unique_ptr<RawClient> watch() const;
  // Sends SIGTERM; returns the exit code, or -1 if a signal or a time limit ended it.
  int stop();
  // Returns the exit code once it has ended by itself.
  int wait();

 private:
  std::string request(const std::string& method, const std::string& path, const std::string& headers) const;

  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
  std::string printed_, cookie_;
};

// Returns what follows the header of a response.
std::string body_of(const std::string& response);

}  // namespace cardcage
