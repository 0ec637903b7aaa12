// Served cards, for tests that make system calls on them.
#pragma once

#include <gmock/gmock.h>

#include <chrono>
#include <string>

#include "sim/fpga/fake_fpgas.h"
#include "tests/fakes/eventually.h"
#include "tests/sim/fpga/system_calls.h"

namespace cardcage {

using namespace std::chrono_literals;

inline constexpr const char* kCard = "0000:5e:00.0";
inline constexpr const char* kOther = "0000:3b:00.0";

class FakeFpgaKernel : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fpgas.mounted()) GTEST_SKIP() << "no file system can be mounted here";
  }
  void TearDown() override { fpgas.release(); }
  int program(unsigned port, const std::string& data, const char* card = kCard) {
    return program_at(fpgas.fme_node(card), port, data);
  }
  fs::path port(const std::string& file, unsigned id = 0) { return fpgas.port_folder(kCard, id) / file; }
  fs::path fme(const std::string& file) { return fpgas.fme_folder(kCard) / file; }
  fs::path manager() { return fs::canonical(fme("dfl-fme-mgr.0/fpga_manager/fpga0")); }

  FakeFpgas fpgas{{fake_fpga::four_ports(kCard), fake_fpga::n3000(kOther), fake_fpga::n6001(), fake_fpga::kria()}};
  const std::string payload = fake_payload(fake_fpga::kNlb3);
};

}  // namespace cardcage
