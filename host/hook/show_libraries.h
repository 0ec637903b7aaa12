// Lets programs of a container find libraries that were mounted into it, as ldconfig(8) does.
#pragma once

#include <vector>

#include "host/core/result.h"
#include "host/hook/container_root.h"
#include "host/model/edits.h"

namespace cardcage {

// The cache of the image's loader gets the libraries that are mounted in the folders, and nothing else changes in it. A
// later ldconfig in the container finds the folders in /etc/ld.so.conf.d. Images without glibc stay unchanged: their
// loader has no cache.
Status show_libraries(const ContainerRoot& root, const std::vector<LdPath>& folders);

}  // namespace cardcage
