// The same module, written with sdk.hpp and with the crate abi/rust.
#pragma once

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "tests/abi/raw_host.h"
#include "tests/fakes/built_files.h"

namespace cardcage::raw {

using Options = std::map<std::string, Value>;

// A language and a version of the module; all behave alike.
struct Language {
  const char* name;
  const char* module;  // file in the folder of the build
  bool installed;
};

class Sdk : public testing::TestWithParam<Language> {
 protected:
  void SetUp() override {
    if (!GetParam().installed)
      GTEST_SKIP() << "no rustc found, tools/setup installs it; or not an x86_64, for which the kept files are";
    everything_ = open_module(built(GetParam().module));
  }
  const cage_module* everything() const { return everything_; }

 private:
  const cage_module* everything_ = nullptr;
};
class CppSdk : public Sdk {};
class RustSdk : public Sdk {};

inline constexpr Language kCpp{"Cpp", "tests/abi/libcardcage_sdk_everything.so", true},
    kRust{"Rust", "tests/abi/libcardcage_rust_everything.so", CARDCAGE_RUST != 0};
// Binaries of 1.0, for which this host may be a later one.
#ifdef __x86_64__
inline constexpr bool kCanKept = true;
#else
inline constexpr bool kCanKept = false;
#endif
inline constexpr Language kKeptCpp{"KeptCpp", "tests/unit/module/kept/1.0/everything_cc.so", kCanKept},
    kKeptRust{"KeptRust", "tests/unit/module/kept/1.0/everything_rs.so", kCanKept};
// The SDK with the headers of a later minor, for which this host is one from the past.
inline constexpr Language kFuture{"Future", "test-modules/sdk_future.so", true};
inline std::string name_of(const testing::TestParamInfo<Language>& info) { return info.param.name; }

inline Options with(Options more = {}) {
  more.emplace("pause", std::int64_t{0});
  return more;
}

}  // namespace cardcage::raw
