// Tests the catalogue of bitstreams in a folder of this process's user: its entries, and the faults of bad ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "host/core/digest.h"
#include "modules/fpga/bitstream/catalogue.h"
#include "sim/fpga/bitstream_files.h"
#include "sim/scratch_folder.h"

namespace cardcage::fpga {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CatalogueTest : public ::testing::Test {
 protected:
  CatalogueTest() { ::chmod(folder.c_str(), 0755); }

  void write(const std::string& name, const std::string& content) {
    const fs::path file = folder / name;
    fs::remove(file);
    std::ofstream(file, std::ios::binary) << content;
    ::chmod(file.c_str(), 0644);
  }
  // Writes a file and its manifest, with further lines.
  void offer(const std::string& name, const std::string& file, const std::string& content,
             const std::string& more = "") {
    write(file, content);
    write(name + ".toml", "file = \"" + file + "\"\nsha256 = \"" + sha256_hex(content) + "\"\n" + more);
  }
  // Returns why the manifest is refused, with /C for the folder.
  std::string fault_of_manifest(const std::string& content) {
    write("x.toml", content);
    return fault("x");
  }
  std::string fault(const std::string& name) {
    return shown([&] { catalogue.find(name); });
  }
  std::string shown(const std::function<void()>& work) {
    try {
      work();
    } catch (const cage::Error& error) {
      std::string text = error.what();
      for (std::size_t at = 0; (at = text.find(folder.native())) != std::string::npos;)
        text.replace(at, folder.native().size(), "/C");
      return text;
    }
    return "no error";
  }
  std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const Entry& entry : catalogue.all()) all.push_back(entry.name);
    return all;
  }
  cage_status status_of(const std::string& name) {
    try {
      catalogue.find(name);
    } catch (const cage::Error& error) {
      return error.status();
    }
    return CAGE_OK;
  }

  ScratchFolder scratch;
  const fs::path folder = fs::canonical(scratch.path());
  const Catalogue catalogue{folder};
  const std::string sum = std::string(64, 'a');
};

TEST_F(CatalogueTest, AnEntryIsItsManifestAndTheHeaderOfItsFile) {
  offer("nlb0", "nlb0.gbs", make_gbs(), "description = \"loopback\"\ncard = \"N3000\"\n");
  const Entry entry = catalogue.find("nlb0");
  EXPECT_EQ(entry.name, "nlb0");
  EXPECT_EQ(entry.description, "loopback");
  EXPECT_EQ(entry.card, "N3000");
  EXPECT_EQ(entry.manifest, folder / "nlb0.toml");
  EXPECT_EQ(entry.file, folder / "nlb0.gbs");
  EXPECT_EQ(entry.overlay, "");
  EXPECT_EQ(entry.sha256, sha256_hex(make_gbs()));
  EXPECT_EQ(entry.size, make_gbs().size());
  EXPECT_EQ(entry.bitstream.format, Format::kGbs);
  EXPECT_EQ(entry.bitstream.interface_id, "69528db6eb31577a8c3668f9faa081f6");
  EXPECT_EQ(entry.bitstream.function_id, "d8424dc4a4a3c413f89e433683f9040b");
  EXPECT_EQ(entry.fault, "");
}

TEST_F(CatalogueTest, ARawBitstreamIsDescribedByItsManifest) {
  write("led.dtbo", make_overlay({"led.bit.bin"}));
  offer("led", "led.bit.bin", "\xff\xff\xff\xff",
        "nodes = [\"/dev/uio4\", \"/dev/dma_heap/reserved\"]\noverlay = \"led.dtbo\"\n"
        "interface = \"69528DB6-EB31-577A-8C36-68F9FAA081F6\"\nfunction = \"d8424dc4a4a3c413f89e433683f9040b\"\n");
  const Entry entry = catalogue.find("led");
  EXPECT_EQ(entry.bitstream.format, Format::kRaw);
  EXPECT_EQ(entry.bitstream.interface_id, "69528db6eb31577a8c3668f9faa081f6");
  EXPECT_EQ(entry.bitstream.function_id, "d8424dc4a4a3c413f89e433683f9040b");
  EXPECT_THAT(entry.nodes, ElementsAre("/dev/uio4", "/dev/dma_heap/reserved"));
  EXPECT_EQ(entry.overlay, folder / "led.dtbo");
}

TEST_F(CatalogueTest, TheManifestMayRepeatTheHeaderAndNotContradictIt) {
  offer("nlb0", "nlb0.gbs", make_gbs(), "interface = \"69528DB6EB31577A8C3668F9FAA081F6\"\n");
  EXPECT_EQ(fault("nlb0"), "no error");
  offer("nlb0", "nlb0.gbs", make_gbs(), "function = \"00000000-a4a3-c413-f89e-433683f9040b\"\n");
  EXPECT_EQ(
      fault("nlb0"),
      "bitstream 'nlb0' (/C/nlb0.gbs): its header has the function d8424dc4a4a3c413f89e433683f9040b, the manifest "
      "00000000a4a3c413f89e433683f9040b; remove 'function' from the manifest, or name the file that was meant");
}

TEST_F(CatalogueTest, TheManifestAddsWhatTheHeaderDoesNotName) {
  const std::string file = make_legacy_gbs("69528db6eb31577a8c3668f9faa081f6", "DATA");
  offer("old", "old.gbs", file);
  EXPECT_EQ(fault("old"),
            "bitstream 'old' (/C/old.gbs): its header names no function; add function = \"<UUID>\" to the manifest");
  offer("old", "old.gbs", file, "function = \"d8424dc4-a4a3-c413-f89e-433683f9040b\"\n");
  EXPECT_EQ(catalogue.find("old").bitstream.function_id, "d8424dc4a4a3c413f89e433683f9040b");
  offer("any", "any.xclbin", make_xclbin({.interface_uuid = "", .vbnv = ""}));
  EXPECT_EQ(
      fault("any"),
      "bitstream 'any' (/C/any.xclbin): its header names neither an interface nor a platform, so no card can be found "
      "to fit it; add interface = \"<UUID>\" to the manifest");
}

TEST_F(CatalogueTest, AChangeCountsAtOnce) {
  EXPECT_THAT(names(), IsEmpty());
  offer("b", "b.gbs", make_gbs());
  offer("a", "a.xclbin", make_xclbin());
  write("notes.txt", "");
  write(".hidden.toml", "");
  write("c.toml~", "");
  EXPECT_THAT(names(), ElementsAre("a", "b"));
  fs::remove(folder / "b.toml");
  EXPECT_THAT(names(), ElementsAre("a"));
  EXPECT_EQ(status_of("b"), CAGE_NOT_FOUND);
}

TEST_F(CatalogueTest, AFaultOfOneEntryHidesNoOther) {
  offer("good", "good.gbs", make_gbs());
  write("bad.toml", "file = 7\n");
  const std::vector<Entry> all = catalogue.all();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_THAT(all[0].fault, HasSubstr("bitstream 'bad' ("));
  EXPECT_EQ(all[1].fault, "");
  EXPECT_EQ(status_of("bad"), CAGE_FAILED_PRECONDITION);
}

TEST_F(CatalogueTest, ANameThatIsNotThereGetsTheNearest) {
  EXPECT_EQ(fault("nlb0"), "there is no bitstream 'nlb0' in the catalogue /C; it is empty");
  for (const char* name : {"nlb0", "nlb3", "hello"}) offer(name, "f.gbs", make_gbs());
  EXPECT_EQ(fault("nbl0"), "there is no bitstream 'nbl0' in the catalogue /C (did you mean 'nlb0'?)");
  EXPECT_EQ(fault("crypto"), "there is no bitstream 'crypto' in the catalogue /C; it has hello, nlb0, nlb3");
  for (int i = 10; i < 20; ++i) write("zz" + std::to_string(i) + ".toml", "");
  EXPECT_EQ(
      fault("crypto"),
      "there is no bitstream 'crypto' in the catalogue /C; it has hello, nlb0, nlb3, zz10, zz11, zz12, zz13, zz14, "
      "zz15, zz16 and 3 more");
  EXPECT_EQ(status_of("crypto"), CAGE_NOT_FOUND);
}

TEST_F(CatalogueTest, ANameIsNeverAPath) {
  offer("nlb0", "nlb0.gbs", make_gbs());
  fs::create_directory(folder / "sub");
  fs::copy(folder / "nlb0.toml", folder / "sub/nlb0.toml");
  for (const char* name : {"sub/nlb0", "../nlb0", "./nlb0", "/etc/passwd", "", "NLB0", "nlb0\n", "-nlb0"})
    EXPECT_EQ(status_of(name), CAGE_NOT_FOUND) << name;
  EXPECT_EQ(status_of(std::string("nlb0\0x", 6)), CAGE_NOT_FOUND);
  EXPECT_EQ(status_of(std::string(64, 'n')), CAGE_NOT_FOUND);
}

TEST_F(CatalogueTest, AManifestWhoseNameIsNoLabelIsShownWithAFault) {
  offer("NLB 0", "nlb0.gbs", make_gbs());
  offer("n\xc3\xbc", "nlb0.gbs", make_gbs());
  const std::vector<Entry> all = catalogue.all();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_THAT(all[0].fault, HasSubstr("bitstream 'NLB 0' ("));
  EXPECT_THAT(all[0].fault, HasSubstr("its name must have at most 63 lower-case letters, digits and dashes"));
  EXPECT_THAT(all[1].fault, HasSubstr("bitstream 'n\?\?' ("));
}

TEST_F(CatalogueTest, FaultsOfAManifestNameTheLine) {
  const std::string good = "file = \"f\"\nsha256 = \"" + sum + "\"\n";
  const std::string x = "bitstream 'x' (/C/x.toml): ";
  const std::string keys = "description, file, sha256, interface, function, card, nodes, clock_as_is, overlay";
  EXPECT_EQ(fault_of_manifest(""), x + "it names no bitstream; add file = \"<its name in this folder>\"");
  EXPECT_EQ(fault_of_manifest("file = \"f\""),
            x + "it does not say which content was approved; add sha256 = \"<what sha256sum prints for f>\"");
  EXPECT_EQ(fault_of_manifest(good + "nods = []\n"), x + "line 3: unknown key 'nods' (did you mean 'nodes'?)");
  EXPECT_EQ(fault_of_manifest(good + "[allowed]\n"), x + "line 3: unknown key 'allowed'; a manifest may have " + keys);
  EXPECT_EQ(fault_of_manifest(good + "\"a\\nb\" = 1\n"), x + "line 3: unknown key 'a?b'; a manifest may have " + keys);
  EXPECT_THAT(fault_of_manifest("file = \n"), HasSubstr(x + "line 1: not valid TOML: "));
  EXPECT_THAT(fault_of_manifest("file = \"\xff\"\n"), HasSubstr(x + "line 1: not valid TOML: "));
  EXPECT_EQ(fault_of_manifest(std::string(65537, '\n')), x + "it is larger than 65536 bytes; replace it");
  EXPECT_EQ(fault_of_manifest("a" + std::string(1001, '.')),
            x + "it has more than 1000 dots; a manifest describes one bitstream");
  EXPECT_THAT(fault_of_manifest("file = " + std::string(60'000, '[')), HasSubstr(x + "line 1: not valid TOML: "));
}

TEST_F(CatalogueTest, ValuesOfAManifestAreChecked) {
  const std::string x = "bitstream 'x' (/C/x.toml): ";
  const std::string name = "must be the name of a file in the same folder, without '/' and not hidden";
  for (const char* file : {"\"\"", "\"../f\"", "\"/etc/shadow\"", "\".\"", "\"..\"", "\".f\"", "\"a/b\"", "\"a\\nb\"",
                           "\"a\\u0000b\"", "7", "[\"f\"]"})
    EXPECT_EQ(fault_of_manifest(std::string("file = ") + file), x + "line 1: 'file' " + name) << file;
  EXPECT_EQ(fault_of_manifest("overlay = \"sub/f.dtbo\""), x + "line 1: 'overlay' " + name);
  for (const std::string& hash :
       {"\"" + sum + "a\"", "\"" + sum.substr(1) + "g\"", std::string("\"\""), std::string("1")})
    EXPECT_EQ(fault_of_manifest("\nsha256 = " + hash),
              x + "line 2: 'sha256' must be 64 hexadecimal digits, as sha256sum prints them");
  EXPECT_EQ(fault_of_manifest("interface = \"a10\""),
            x + "line 1: 'interface' must be a UUID: 32 hexadecimal digits, with or without dashes");
  EXPECT_EQ(fault_of_manifest("card = \"\""), x + "line 1: 'card' must be a text of 1 to 64 bytes in one line");
  EXPECT_EQ(fault_of_manifest("description = \"" + std::string(257, 'd') + "\""),
            x + "line 1: 'description' must be a text of 1 to 256 bytes in one line");
  for (const char* nodes :
       {"\"/dev/uio4\"", "[7]", "[\"\"]", "[\"uio4\"]", "[\"/etc/shadow\"]", "[\"/dev/../etc/shadow\"]", "[\"/dev/\"]",
        "[\"/dev//uio4\"]", "[\"/dev/dfl-fme.0\"]", "[\"/dev/xclmgmt256\"]"})
    EXPECT_EQ(fault_of_manifest(std::string("nodes = ") + nodes),
              x + "line 1: 'nodes' must be a list of at most 16 device nodes below /dev, none of which manages a card")
        << nodes;
}

TEST_F(CatalogueTest, KeysForRawBitstreamsAreForThemAlone) {
  offer("x", "x.gbs", make_gbs(), "nodes = [\"/dev/uio4\"]\n");
  EXPECT_EQ(
      fault("x"),
      "bitstream 'x' (/C/x.toml): 'nodes' is for bitstreams without a header, and x.gbs is a GBS file; remove the "
      "key");
  offer("x", "x.xclbin", make_xclbin(), "overlay = \"x.dtbo\"\n");
  EXPECT_EQ(fault("x"),
            "bitstream 'x' (/C/x.toml): 'overlay' is for bitstreams without a header, and x.xclbin is an xclbin file; "
            "remove the key");
}

TEST_F(CatalogueTest, AnOverlayMayProgramNothingButTheFile) {
  const auto fault_with = [&](const std::string& overlay) {
    write("x.dtbo", overlay);
    offer("x", "x.bin", "bits", "overlay = \"x.dtbo\"\n");
    return fault("x");
  };
  const std::string x = "bitstream 'x' (/C/x.dtbo): ";
  EXPECT_EQ(fault_with(make_overlay({"x.bin"})), "no error");
  EXPECT_EQ(fault_with(make_overlay({"x.bin", "y.bin"})),
            x + "its firmware-name is 'y.bin', and only 'x.bin' was approved; correct one of them");
  EXPECT_EQ(fault_with(make_overlay({})),
            x + "it has no property firmware-name, so the kernel would program nothing; add it");
  EXPECT_EQ(fault_with("x.bin"), x + "it is not a flattened device tree; build it with: dtc -@ -O dtb");
  EXPECT_EQ(fault_with(std::string(1048577, 'x')), x + "it is larger than 1048576 bytes; replace it");
  fs::remove(folder / "x.dtbo");
  EXPECT_EQ(fault("x"), x + "it does not exist; copy it there, or correct 'overlay' in the manifest");
}

TEST_F(CatalogueTest, OnlyFilesThatNobodyElseCanChangeAreTaken) {
  offer("x", "x.gbs", make_gbs());
  const std::string gbs = "bitstream 'x' (/C/x.gbs): ", manifest = "bitstream 'x' (/C/x.toml): ";
  const auto mode = [](unsigned bits, const char* name) {
    return "its mode is 0" + std::to_string(bits) +
           ", and only its owner may be allowed to write it; run: chmod go-w /C/" + name;
  };
  ::chmod((folder / "x.gbs").c_str(), 0664);
  EXPECT_EQ(fault("x"), gbs + mode(664, "x.gbs"));
  ::chmod((folder / "x.gbs").c_str(), 0444);
  ::chmod((folder / "x.toml").c_str(), 0646);
  EXPECT_EQ(fault("x"), manifest + mode(646, "x.toml"));
  ::chmod((folder / "x.toml").c_str(), 0600);
  EXPECT_EQ(fault("x"), "no error");
  ::chmod(folder.c_str(), 0777);
  EXPECT_EQ(fault("x"),
            "the catalogue of bitstreams (/C): its mode is 0777, and only its owner may be allowed to write "
            "it; run: chmod go-w /C");
  EXPECT_THAT(shown([&] { catalogue.all(); }), HasSubstr("its mode is 0777"));
}

TEST_F(CatalogueTest, OnlyFilesOfRootAreTaken) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a file away";
  offer("x", "x.gbs", make_gbs());
  for (const char* name : {"x.gbs", "x.toml", "."}) {
    const fs::path file = (folder / name).lexically_normal();
    ASSERT_EQ(::chown(file.c_str(), 65534, 0), 0);
    EXPECT_THAT(fault("x"),
                HasSubstr("): it belongs to user 65534, and only root may change bitstreams; run: chown root /C"));
    ASSERT_EQ(::chown(file.c_str(), 0, 0), 0);
  }
  EXPECT_EQ(fault("x"), "no error");
}

TEST_F(CatalogueTest, LinksAndWhatIsNoFileAreNotOpened) {
  const std::string gbs = "bitstream 'x' (/C/x.gbs): ";
  const std::string link = "it is a symbolic link, which may lead anywhere; put what it leads to in its place";
  offer("x", "x.gbs", make_gbs());
  fs::rename(folder / "x.gbs", folder / "real");
  EXPECT_EQ(fault("x"), gbs + "it does not exist; copy it there, or correct 'file' in the manifest");
  fs::create_symlink("real", folder / "x.gbs");
  EXPECT_EQ(fault("x"), gbs + link);
  fs::remove(folder / "x.gbs");
  ASSERT_EQ(::mkfifo((folder / "x.gbs").c_str(), 0644), 0);
  EXPECT_EQ(fault("x"), gbs + "it is not a regular file; put one in its place")
      << "opening it must not wait for a writer";
  fs::remove(folder / "x.gbs");
  fs::create_directory(folder / "x.gbs");
  EXPECT_EQ(fault("x"), gbs + "it is not a regular file; put one in its place");
  write("x.aocx",
        "\x7f"
        "ELF");
  write("x.toml", "file = \"x.aocx\"\nsha256 = \"" + sum + "\"\n");
  EXPECT_EQ(fault("x"),
            "bitstream 'x' (/C/x.aocx): it is an ELF file, as Intel's OpenCL compiler writes (.aocx); extract "
            "the GBS file from it and use that");
  fs::rename(folder / "x.toml", folder / "y");
  fs::create_symlink("y", folder / "x.toml");
  EXPECT_EQ(fault("x"), "bitstream 'x' (/C/x.toml): " + link);
}

TEST_F(CatalogueTest, TheFolderItselfMustBeTheRealOne) {
  const fs::path linked = folder / "link", missing = folder / "missing";
  fs::create_symlink(folder, linked);
  for (const fs::path& path : {linked, linked / ""})
    EXPECT_THAT(shown([&] { Catalogue(path).all(); }), HasSubstr("the catalogue of bitstreams (/C/link): it is "));
  EXPECT_THAT(Catalogue(missing).all(), IsEmpty());
  EXPECT_EQ(
      shown([&] { Catalogue(missing).find("x"); }),
      "there is no bitstream 'x': the catalogue of bitstreams (/C/missing): it does not exist; create the folder and "
      "put the bitstream and its manifest there");
}

TEST_F(CatalogueTest, AFileOf4GiBIsNotRead) {
  offer("x", "x.bin", "bits");
  fs::resize_file(folder / "x.bin", std::uint64_t{1} << 32);
  EXPECT_EQ(fault("x"), "bitstream 'x' (/C/x.bin): it is larger than 1 GiB, which no card takes; replace it");
}

TEST_F(CatalogueTest, TheContentMustBeTheApprovedOne) {
  const std::string file = make_gbs({.data = std::string(3'500'000, 'd')});
  offer("x", "x.gbs", file);
  const Entry entry = catalogue.find("x");
  std::vector<unsigned> steps;
  const OwnedFile checked = check_sha256(entry, [&](unsigned percent) { steps.push_back(percent); });
  EXPECT_THAT(steps, ElementsAre(0, 29, 59, 89, 100));
  std::string changed = file;
  changed.back() = 'D';
  write("x.gbs", changed);
  std::string read(file.size(), '\0');
  EXPECT_EQ(checked.read(0, read), file.size());
  EXPECT_EQ(read, file) << "the descriptor is that of the file that was checked";
  EXPECT_EQ(shown([&] { check_sha256(entry, {}); }),
            "bitstream 'x' (/C/x.gbs): its SHA-256 is " + sha256_hex(changed) + ", the manifest has " +
                sha256_hex(file) +
                "; put back the file that was approved, or, if the new one is, write its sum into /C/x.toml");
  write("x.gbs", file + "more");
  EXPECT_THAT(shown([&] { check_sha256(entry, {}); }), HasSubstr("its SHA-256 is "));
  write("x.gbs", "");
  EXPECT_THAT(shown([&] { check_sha256(entry, {}); }), HasSubstr("its SHA-256 is "));
  fs::remove(folder / "x.gbs");
  EXPECT_EQ(shown([&] { check_sha256(entry, {}); }),
            "bitstream 'x' (/C/x.gbs): it does not exist; copy it there, or correct 'file' in the manifest");
  fs::create_symlink("/etc/passwd", folder / "x.gbs");
  EXPECT_THAT(shown([&] { check_sha256(entry, {}); }), HasSubstr("it is a symbolic link"));
}

}  // namespace
}  // namespace cardcage::fpga
