// Files of a node in a temporary folder, and module tools that read them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "modules/fpga/bitstream/checksum.h"
#include "modules/fpga/target.h"
#include "sim/scratch_folder.h"
#include "tests/common/recording_host.h"

namespace cardcage::fpga {

class NodeFiles : public testing::Test {
 protected:
  NodeFiles() {
    for (const char* name : {"sys", "proc", "dev", "catalogue"}) std::filesystem::create_directory(folder / name);
  }

  void write(const std::string& name, const std::string& content) const {
    const std::filesystem::path file = folder / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content;
  }
  void link(const std::string& name, const std::string& target) const {
    const std::filesystem::path file = folder / name;
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::create_symlink(target, file);
  }
  // Adds a bitstream to the catalogue, approved with its content.
  Entry bitstream(Format format, const std::string& file, const std::string& content = "configuration") const {
    write("catalogue/" + file, content);
    Sha256 sum;
    sum.add(content);
    Entry entry{.name = "filter"};
    entry.manifest = folder / "catalogue/filter.toml";
    entry.file = folder / ("catalogue/" + file);
    entry.sha256 = sum.finish();
    entry.size = content.size();
    entry.bitstream.format = format;
    entry.bitstream.data_size = content.size();
    return entry;
  }

  ScratchFolder folder;
  RecordingHost host;
  const Tools tools{
      .node = {.sysfs = folder / "sys", .procfs = folder / "proc", .devfs = folder / "dev"},
      .host = host.host(),
      .passthrough = hardware::Passthrough(host.host(), folder / "sys", folder / "dev", "FPGA", "vfio-pci"),
      .xrt_program = "xbutil"};
};

// Runs `work` and returns its error; fails the test if there is none, or one with another status.
template <class Work>
std::string error_of(cage_status status, Work&& work) {
  try {
    work();
  } catch (const cage::Error& error) {
    EXPECT_EQ(error.status(), status) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

}  // namespace cardcage::fpga
