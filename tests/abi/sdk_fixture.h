// The same module, written with sdk.hpp and with the crate abi/rust.
#pragma once

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "tests/abi/raw_host.h"

namespace cardcage::raw {

using Options = std::map<std::string, Value>;

// A language of the module; both modules behave alike.
struct Language {
  const char* name;
  const char* module;
  bool installed;
};

class Sdk : public testing::TestWithParam<Language> {
 protected:
  void SetUp() override {
    if (!GetParam().installed) GTEST_SKIP() << "no rustc found; tools/setup installs it";
    everything_ = open_built(GetParam().module);
  }
  const cage_module* everything() const { return everything_; }

 private:
  const cage_module* everything_ = nullptr;
};
class CppSdk : public Sdk {};
class RustSdk : public Sdk {};

inline constexpr Language kCpp{"Cpp", "sdk_everything", true}, kRust{"Rust", "rust_everything", CARDCAGE_RUST != 0};
inline std::string name_of(const testing::TestParamInfo<Language>& info) { return info.param.name; }

inline Options with(Options more = {}) {
  more.emplace("pause", std::int64_t{0});
  return more;
}

}  // namespace cardcage::raw
