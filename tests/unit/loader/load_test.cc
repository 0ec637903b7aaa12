#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gnu/libc-version.h>
#include <unistd.h>

#include "host/loader/loader.h"
#include "tests/fakes/built_files.h"
#include "tests/modules/base.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::filesystem::path kModules = test_modules();

Result<LoadedModule> load_test_module(const std::string& file) {
  auto staged = stage({kModules}, file, {});
  if (!staged) return std::unexpected(staged.error());
  return load(std::move(*staged));
}
std::string refusal(const std::string& file) {
  const auto loaded = load_test_module(file);
  return loaded ? "was loaded" : loaded.error().message;
}
std::string refused(const std::string& file, const std::string& why) {
  return fmt::format("module file '{}' is refused: {}", (kModules / file).native(), why);
}

TEST(LoadTest, CopiesTheTableOfAGoodModule) {
  const auto loaded = load_test_module("good.so");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(std::string_view(loaded->table().id.data, loaded->table().id.size), "example.test");
  EXPECT_NE(loaded->table().create, nullptr);
  EXPECT_EQ(loaded->table().start, nullptr);
  EXPECT_EQ(loaded->path(), kModules / "good.so");
}

TEST(LoadTest, TakesListsWithoutEntriesThatPointNowhere) {
  const auto loaded = load_test_module("empty_lists.so");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->table().option_count, 0U);
}

TEST(LoadTest, GivesEachLoadItsOwnImageOfTheSameFile) {
  const auto one = load_test_module("good.so"), two = load_test_module("good.so");
  ASSERT_TRUE(one && two);
  EXPECT_NE(one->table().id.data, two->table().id.data);
  EXPECT_EQ(one->sha256(), two->sha256());
}

// A debugger opens the file that the link map names, in another process.
TEST(LoadTest, NamesTheModuleSoThatAnotherProcessFindsItsImage) {
  const auto loaded = load_test_module("good.so");
  ASSERT_TRUE(loaded);
  Dl_info about{};
  ASSERT_NE(::dladdr(reinterpret_cast<const void*>(loaded->table().create), &about), 0);
  EXPECT_THAT(about.dli_fname, StartsWith(fmt::format("/proc/{}/fd/", ::getpid())));
  EXPECT_EQ(std::filesystem::read_symlink(about.dli_fname).native(), "/memfd:cardcage:good.so (deleted)");
}

TEST(LoadTest, KeepsAModuleMappedAndItsDescriptorTaken) {
  int fd = -1;
  const char* id = nullptr;
  {
    auto staged = stage({kModules}, "good.so", {});
    ASSERT_TRUE(staged);
    fd = staged->image.get();
    const auto loaded = load(std::move(*staged));
    ASSERT_TRUE(loaded);
    id = loaded->table().id.data;
  }
  EXPECT_STREQ(id, "example.test");
  EXPECT_GE(::fcntl(fd, F_GETFD), 0);
}

TEST(LoadTest, UnmapsAModuleThatPermitsIt) {
  int fd = -1;
  {
    auto staged = stage({kModules}, "unloadable.so", {});
    ASSERT_TRUE(staged);
    fd = staged->image.get();
    ASSERT_TRUE(load(std::move(*staged)));
  }
  EXPECT_LT(::fcntl(fd, F_GETFD), 0);
}

TEST(LoadTest, NamesAMissingLibraryAndTheRemedy) {
  EXPECT_EQ(refusal("missing_library.so"),
            fmt::format("cannot load module file '{}': libcardcage-absent.so: cannot open shared object file: No such "
                        "file or directory (install the package that brings libcardcage-absent.so and run ldconfig, or "
                        "let the module dlopen it in create, so that it can report a missing driver itself)",
                        (kModules / "missing_library.so").native()));
}

TEST(LoadTest, NamesAnUndefinedSymbolAndTheRemedy) {
  EXPECT_EQ(refusal("undefined_symbol.so"),
            fmt::format("cannot load module file '{}': undefined_symbol.so: undefined symbol: vendor_library_init (no "
                        "library that the module is linked with has vendor_library_init: link the one that does, and "
                        "link with -Wl,-z,defs to see it at build time)",
                        (kModules / "undefined_symbol.so").native()));
}

TEST(LoadTest, AdvisesOnOtherErrorsOfTheDynamicLoader) {
  EXPECT_THAT(advice_for("x.so: cannot allocate memory in static TLS block", {}), HasSubstr("-ftls-model"));
  EXPECT_THAT(advice_for("libx.so: wrong ELF class: ELFCLASS32", {}), HasSubstr("64-bit build"));
  EXPECT_THAT(advice_for("/lib/libc.so.6: version `GLIBC_2.38' not found (required by x.so)", {}),
              HasSubstr(fmt::format("(the module needs GLIBC_2.38 and this system has glibc {}: build it on the oldest "
                                    "system that must run it, such as Debian 12)",
                                    ::gnu_get_libc_version())));
  EXPECT_THAT(advice_for("x.so: cannot enable executable stack as shared object requires: Permission denied", {}),
              HasSubstr("noexecstack"));
  EXPECT_THAT(advice_for("x.so: failed to map segment from shared object", {}), HasSubstr("security policy"));
  EXPECT_THAT(advice_for("libv.so: cannot open shared object file: No such file or directory",
                         {.needed = {}, .run_path = "$ORIGIN/../lib", .entries = {}, .others = {}}),
              HasSubstr("the run path '$ORIGIN/../lib' of the module has no effect"));
  EXPECT_EQ(advice_for("something new", {}), "");
}

TEST(LoadTest, NamesTheVersionOfLibstdcxxThatAModuleNeeds) {
  EXPECT_THAT(
      refusal("newer_libstdcxx.so"),
      HasSubstr("version `GLIBCXX_9.9.9' not found (required by newer_libstdcxx.so) (the module was built with a "
                "newer libstdc++, whose GLIBCXX_9.9.9 this system lacks: build it on the oldest system that must "
                "run it, such as Debian 12, or link it with -static-libstdc++)"));
}

TEST(LoadTest, NamesOtherLibrariesOfThisSystemThatAreTooOldOrMissing) {
  EXPECT_THAT(refusal("newer_glibc.so"),
              HasSubstr("version `GLIBC_9.9' not found (required by newer_glibc.so) (the module needs GLIBC_9.9"));
  EXPECT_THAT(refusal("newer_zlib.so"),
              HasSubstr("version `ZLIB_9.9' not found (required by newer_zlib.so) (the module was built with a newer "
                        "library than that of this system, which lacks ZLIB_9.9: install that library, or build the "
                        "module with this one)"));
  EXPECT_THAT(refusal("musl.so"),
              HasSubstr("libc.musl-x86_64.so.1: cannot open shared object file: No such file or directory (the module "
                        "was built for musl, as on Alpine, and this host has glibc: build it on Debian 12)"));
}

TEST(LoadTest, RefusesAnEntryThatReturnsNoTableOrThrows) {
  EXPECT_EQ(refusal("null_table.so"),
            refused("null_table.so",
                    "its entry cage_module_v1 returned no table, which means that it does not work with this host "
                    "(module ABI 1.0): install a build for this version"));
  EXPECT_EQ(refusal("throwing_entry.so"),
            refused("throwing_entry.so",
                    "its entry cage_module_v1 threw an exception; no exception may leave a module [R9]"));
}

TEST(LoadTest, TwoModulesWithTheSameClassHaveTablesOfTheirOwn) {
  const auto one = load_test_module("same_class_1.so"), two = load_test_module("same_class_2.so");
  ASSERT_TRUE(one) << one.error().message;
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_EQ(std::string_view(one->table().version.data, one->table().version.size), "1.0.0");
  EXPECT_EQ(std::string_view(two->table().version.data, two->table().version.size), "2.0.0");
  EXPECT_NE(one->table().create, two->table().create);
  EXPECT_NE(one->table().options[0], two->table().options[0]);
  EXPECT_STREQ(two->table().options[0]->help.data, "2.0.0");
}

TEST(LoadTest, RefusesATableOrAFunctionThatLiesInAnotherObject) {
  const std::string remedy =
      " must lie in the file; perhaps another module exports the same name: define it in the module, and export "
      "cage_module_v1 alone (-fvisibility=hidden, module.map) [R1]";
  EXPECT_TRUE(load_test_module("shared_table_one.so"));
  EXPECT_EQ(refusal("shared_table_two.so"), refused("shared_table_two.so", "its table" + remedy));
  EXPECT_EQ(refusal("foreign_function.so"), refused("foreign_function.so", "its destroy" + remedy));
}

class TableTest : public ::testing::Test {
 protected:
  std::string refusal() const {
    const auto read = read_table(&table);
    return read ? "was taken" : read.error().message;
  }
  cage_module table = [] {
    cage_module good{};
    good.magic = CAGE_MAGIC;
    good.struct_size = sizeof good;
    good.abi_minor = CAGE_ABI_MINOR;
    good.create = base_create;
    good.discover = base_discover;
    good.prepare = base_prepare;
    good.unprepare = base_unprepare;
    good.destroy = base_destroy;
    return good;
  }();
};

TEST_F(TableTest, RefusesAWrongMagic) {
  table.magic = 0x12345678;
  EXPECT_EQ(refusal(), "its table begins with 0x12345678 and not with CAGE_MAGIC: set .magic = CAGE_MAGIC");
}

TEST_F(TableTest, RefusesFlagsThatTheHostDoesNotKnow) {
  table.flags = CAGE_MODULE_CONCURRENT | 1u << 20;
  EXPECT_EQ(refusal(), "its table has the unknown flags 0x100000: a module sets only those that the host knows [R16]");
}

TEST_F(TableTest, RefusesAnImpossibleSize) {
  for (const std::uint32_t size : {0u, 16u, 5000u, 0xffffffffu}) {
    table.struct_size = size;
    EXPECT_THAT(refusal(), StartsWith(fmt::format("its table says struct_size {}, expected ", size)));
    EXPECT_THAT(refusal(), HasSubstr("set .struct_size = sizeof(cage_module) [R2]"));
  }
}

TEST_F(TableTest, RefusesATableSmallerThanThatOfTheFirstVersion) {
  table.struct_size = offsetof(cage_module, extension);
  EXPECT_EQ(refusal(),
            "its table says struct_size 208, expected 216, as in module ABI 1.0, to 4096: set .struct_size = "
            "sizeof(cage_module) [R2]");
}

TEST_F(TableTest, IgnoresTheExtraMembersOfALongerTable) {
  struct {
    cage_module table;
    void* newer[4];
  } longer = {table, {}};
  longer.table.struct_size = sizeof longer;
  longer.table.abi_minor = CAGE_ABI_MINOR + 1;
  EXPECT_TRUE(read_table(&longer.table));
}

TEST_F(TableTest, RefusesATableThatNeedsANewerHost) {
  table.abi_minor = table.min_host_minor = 9;
  EXPECT_EQ(refusal(),
            "it needs a host with module ABI 1.9 or later and this one has 1.0: upgrade Cardcage, or install an older "
            "build of the module");
}

TEST_F(TableTest, RefusesMinorsThatContradictEachOther) {
  table.min_host_minor = 9;
  EXPECT_EQ(refusal(), "its table says abi_minor 0 and min_host_minor 9: set .abi_minor = CAGE_ABI_MINOR");
}

TEST_F(TableTest, NamesAMissingFunction) {
  const cage_module whole = table;
  table.discover = nullptr;
  EXPECT_EQ(refusal(),
            "its table has no discover function, which every module needs: set .discover in the cage_module table");
  table = whole;
  table.destroy = nullptr;
  EXPECT_THAT(refusal(), StartsWith("its table has no destroy function"));
}

}  // namespace
}  // namespace cardcage
