// The files of a container whose first process has not started, as a createContainer hook sees them: the container's
// mounts exist, and the node's files, too.
//
// No file of the image is executed, and none of its links leads out of the container: openat2(2), since Linux 5.6.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "host/core/result.h"
#include "host/core/unique_fd.h"

namespace cardcage {

// Paths are those of the container.
class ContainerRoot {
 public:
  // Opens the root that config.json of the bundle names (OCI runtime specification, "Filesystem Bundle").
  static Result<ContainerRoot> of_bundle(const std::string& bundle);
  static Result<ContainerRoot> of_folder(const std::string& folder);

  // False, too, if the path cannot be reached.
  bool has(const std::string& path) const;
  // Reads a regular file of the image, not one on a mount or behind a link. kNotFound if there is none.
  Result<std::string> read(const std::string& path, std::size_t limit) const;
  // The names in a folder, sorted; empty if there is no such folder.
  std::vector<std::string> list(const std::string& folder) const;
  // Opens a regular file for reading. With `mounted` only one that is a mount of its own, and not of the image.
  UniqueFd open(const std::string& path, bool mounted = false) const;

  // Makes the container see this content at the path: replaces the image's file, or mounts over it where the image
  // cannot be written. False if the container can have no such file. Files that a pod mounts into the container stay
  // unchanged.
  Result<bool> write(const std::string& path, std::string_view content) const;
  // Mounts the content over a file. False if the file does not exist, or if the node would see the mount.
  Result<bool> cover(const std::string& path, std::string_view content) const;
  // False if the image can have no such folder.
  bool make_folder(const std::string& path) const;

 private:
  explicit ContainerRoot(UniqueFd root) : root_(std::move(root)) {}
  UniqueFd find(const std::string& path, int flags, bool only_image = false) const;
  Result<bool> cover(const UniqueFd& target, const std::string& path, std::string_view content) const;

  UniqueFd root_;
};

}  // namespace cardcage
