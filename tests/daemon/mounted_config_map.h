// A file from a ConfigMap that the kubelet mounts and updates.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace cardcage {

// As pkg/volume/util/atomic_writer.go: the file is a link into "..data", which is a link to the folder of the current
// version.
class MountedConfigMap {
 public:
  MountedConfigMap(std::filesystem::path folder, std::string file)
      : folder_(std::move(folder)), file_(std::move(file)) {}

  // Writes the next version, swaps the links and removes the previous version.
  void write(const std::string& content) {
    namespace fs = std::filesystem;
    const std::string old = version_name();
    ++version_;
    const std::string next = version_name();
    fs::create_directory(folder_ / next);
    std::ofstream(folder_ / next / file_) << content;
    fs::create_directory_symlink(next, folder_ / "..data_tmp");
    fs::rename(folder_ / "..data_tmp", folder_ / "..data");
    fs::remove_all(folder_ / old);
    if (fs::is_symlink(folder_ / file_)) return;
    fs::remove(folder_ / file_);
    fs::create_symlink(fs::path("..data") / file_, folder_ / file_);
  }

 private:
  std::string version_name() const { return "..2026_" + std::to_string(version_); }

  const std::filesystem::path folder_;
  const std::string file_;
  int version_ = 0;
};

}  // namespace cardcage
