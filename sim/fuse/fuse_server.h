// A file system in user space, over the protocol of /dev/fuse (fuse(4)). Nothing is cached: every access calls Files,
// and a write has happened when it returns. An access may be completed later; until then its caller waits inside the
// kernel, where SIGKILL does not reach it.
//
// Source: include/uapi/linux/fuse.h; fs/fuse/file.c and ioctl.c of Linux.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "host/core/unique_fd.h"

namespace cardcage {

class FuseServer {
 public:
  // Values of a request that its reply needs.
  struct Request {
    std::uint64_t unique = 0;
    pid_t caller = 0;  // thread id
    unsigned opcode = 0;
    std::uint64_t handle = 0;  // handle of the open file
    std::uint64_t offset = 0;
    std::uint32_t size = 0;
  };
  struct Reply {
    int error = 0;
    std::string body;  // the whole text of a file, or the argument that an ioctl returns
  };
  using Answer = std::optional<Reply>;  // none: reply() follows

  struct Ioctl {
    unsigned command = 0;
    std::uint64_t argument = 0;
    std::string_view input;  // empty for a number without a direction: the kernel passes only the argument
    std::size_t room = 0;    // for the reply
  };

  // The content of the file system. One thread calls it, with paths below the mount; "" is the root.
  class Files {
   public:
    virtual ~Files() = default;
    // The mode with its type; 0 if the path does not exist.
    virtual unsigned mode(const std::string& path) = 0;
    virtual std::string link(const std::string& path) = 0;
    virtual std::vector<std::string> list(const std::string& folder) = 0;
    // The kernel keeps O_EXCL for itself: see open_flags_of().
    virtual Answer open(const Request&, const std::string& path, unsigned flags);
    virtual Answer read(const Request&, const std::string& path) = 0;
    virtual Answer write(const Request&, const std::string& path, std::string text) = 0;
    virtual Answer ioctl(const Request&, const std::string& path, const Ioctl&);
    // Runs when the last descriptor of an open file is closed.
    virtual void closed(std::uint64_t handle);
  };

  // Mounts at the folder. The files must outlive the server. `names_kept` is how long the kernel caches names: zero
  // where they may change.
  FuseServer(const std::filesystem::path& folder, const std::string& name, Files& files,
             std::chrono::seconds names_kept = {});
  FuseServer(const FuseServer&) = delete;
  FuseServer& operator=(const FuseServer&) = delete;
  // Fails the accesses that wait.
  ~FuseServer();

  // False if mounting is not possible.
  bool mounted() const { return mounted_; }
  // [any-thread]
  void reply(const Request& request, const Reply& reply);

 private:
  struct Node {
    std::string path;
    std::uint64_t lookups = 0;
  };
  void serve();
  void take(std::string_view message);
  void respond(const Request& request, std::uint64_t node, std::string_view body);
  void respond_with_data(const Request& request, const std::string& path, std::string_view body);
  void look_up(const Request& request, std::uint64_t parent, std::string_view name);
  void list(const Request& request, const std::string& path, std::string_view body);
  void forget(std::string_view message);
  void forget(std::uint64_t node, std::uint64_t lookups);
  std::uint64_t node_of(const std::string& path, unsigned mode);
  void send(const Request& request, int error, const std::string& body) const;

  const std::filesystem::path folder_;
  Files& files_;
  const std::chrono::seconds names_kept_;
  UniqueFd device_, stop_;
  bool mounted_ = false;
  std::map<std::uint64_t, Node> nodes_;
  std::map<std::string, std::uint64_t> folders_;
  std::uint64_t last_node_ = 1, last_handle_ = 0;
  std::mutex mutex_;
  std::map<std::uint64_t, std::string> texts_;  // the text of an open file, as it was at its open
  std::thread server_;
};

// The flags of the open(2), openat(2) or openat2(2) in which the thread waits; nothing if it is not in such a call.
std::optional<std::uint64_t> open_flags_of(pid_t thread);

// These copy between this process and another one, which waits; false if an address is not mapped.
bool read_memory(pid_t process, std::uint64_t address, void* to, std::size_t size);
bool write_memory(pid_t process, std::uint64_t address, const void* from, std::size_t size);

}  // namespace cardcage
