// The same module, written with sdk.hpp and with the crate abi/rust.
#pragma once

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "tests/abi/raw_host.h"
#include "tests/fakes/built_files.h"

namespace cardcage::raw {

using Options = std::map<std::string, Value>;

// Both modules do the same.
struct Language {
  const char* name;
  const char* module;
};

class Sdk : public testing::TestWithParam<Language> {
 protected:
  void SetUp() override {
    const auto file = built(std::string("tests/abi/libcardcage_") + GetParam().module + ".so");
    if (!std::filesystem::exists(file)) GTEST_SKIP() << "no rustc found; tools/setup installs it";
    everything_ = open_module(file);
  }
  const cage_module* everything() const { return everything_; }

 private:
  const cage_module* everything_ = nullptr;
};
class CppSdk : public Sdk {};
class RustSdk : public Sdk {};

inline constexpr Language kCpp{"Cpp", "sdk_everything"}, kRust{"Rust", "rust_everything"};
inline std::string name_of(const testing::TestParamInfo<Language>& info) { return info.param.name; }

inline Options with(Options more = {}) {
  more.emplace("pause", std::int64_t{0});
  return more;
}

}  // namespace cardcage::raw
