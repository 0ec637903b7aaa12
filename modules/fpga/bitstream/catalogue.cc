#include "modules/fpga/bitstream/catalogue.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "modules/fpga/bitstream/checksum.h"
#include "modules/fpga/bitstream/manifest.h"
#include "modules/fpga/bitstream/nearest.h"
#include "modules/fpga/bitstream/overlay.h"
#include "modules/fpga/bitstream/uuid.h"

namespace cardcage::fpga {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".toml";
constexpr std::uint64_t kMostBytes = 1u << 30;  // the limit of the host, too
constexpr std::size_t kLongestEntryName = 63, kReadSize = 1 << 20;

bool is_dns_label(std::string_view name) {
  const auto inner = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && name.size() <= kLongestEntryName && name.front() != '-' && name.back() != '-' &&
         std::ranges::all_of(name, inner);
}

std::string subject_of(const std::string& name, const fs::path& file) {
  return "bitstream '" + printable(name) + "' (" + printable(file.native(), 4096) + "): ";
}

// Runs `work` on one file, and puts the subject before its errors.
template <class Work>
auto about(const std::string& name, const fs::path& file, Work&& work) {
  try {
    return work();
  } catch (const cage::Error& error) {
    throw cage::Error(error.status(), subject_of(name, file) + error.what());
  }
}

std::string read_whole(const OwnedFile& file, std::size_t most) {
  if (file.size() > most) refuse("it is larger than " + std::to_string(most) + " bytes; replace it");
  std::string content(static_cast<std::size_t>(file.size()), '\0');
  content.resize(file.read(0, content));
  return content;
}

OwnedFile open_named(const OwnedFile& folder, const std::string& name, std::string_view key) {
  try {
    return OwnedFile::in(folder, name);
  } catch (const cage::Error& error) {
    if (error.status() != CAGE_NOT_FOUND) throw;
    refuse("it does not exist; copy it there, or correct '" + std::string(key) + "' in the manifest");
  }
}

// Merges a value of the manifest into that of the header. The manifest may repeat the header but not contradict it.
void add(std::string& from_header, const std::string& from_manifest, std::string_view what) {
  if (from_header.empty()) from_header = from_manifest;
  if (!from_manifest.empty() && from_manifest != from_header)
    refuse("its header has the " + std::string(what) + " " + from_header + ", the manifest " + from_manifest +
           "; remove '" + std::string(what) + "' from the manifest, or name the file that was meant");
}

void read_header(const OwnedFile& folder, const Manifest& manifest, Entry& entry) {
  const OwnedFile file = open_named(folder, manifest.file, "file");
  entry.size = file.size();
  if (file.size() > kMostBytes) refuse("it is larger than 1 GiB, which no card takes; replace it");
  const FileBytes bytes(file.size(),
                        [&](std::uint64_t offset, std::span<char> into) { return file.read(offset, into); });
  entry.bitstream = parse_bitstream(bytes);
  if (entry.bitstream.format == Format::kRaw && entry.file.extension() == ".gbs")
    refuse("it does not begin as a GBS file does; name the file that OPAE's packager wrote");
  add(entry.bitstream.interface_id, manifest.interface_id, "interface");
  add(entry.bitstream.function_id, manifest.function_id, "function");
  const Bitstream& bitstream = entry.bitstream;
  if (bitstream.format == Format::kGbs && (bitstream.interface_id.empty() || bitstream.function_id.empty())) {
    const std::string missing = bitstream.interface_id.empty() ? "interface" : "function";
    refuse("its header names no " + missing + "; add " + missing + " = \"<UUID>\" to the manifest");
  }
  if (bitstream.format == Format::kXclbin && bitstream.interface_id.empty() && bitstream.platform.empty())
    refuse(
        "its header names neither an interface nor a platform, so no card can be found to fit it; "
        "add interface = \"<UUID>\" to the manifest");
}

void check_raw_keys(const Entry& entry, const Manifest& manifest) {
  const std::string key = !manifest.nodes.empty() ? "nodes" : !manifest.overlay.empty() ? "overlay" : "";
  if (entry.bitstream.format != Format::kRaw && !key.empty())
    refuse("'" + key + "' is for bitstreams without a header, and " + printable(manifest.file) + " is " +
           (entry.bitstream.format == Format::kGbs ? "a GBS file" : "an xclbin file") + "; remove the key");
}

void check_overlay(const OwnedFile& folder, const Manifest& manifest) {
  const std::string content = read_whole(open_named(folder, manifest.overlay, "overlay"), kMostOverlayBytes);
  const std::vector<std::string> names = firmware_names(content);
  if (names.empty()) refuse("it has no property firmware-name, so the kernel would program nothing; add it");
  for (const std::string& name : names) {
    if (name != manifest.file)
      refuse("its firmware-name is '" + printable(name) + "', and only '" + printable(manifest.file) +
             "' was approved; correct one of them");
  }
}

void read_entry(const OwnedFile& folder, Entry& entry) {
  const Manifest manifest = about(entry.name, entry.manifest, [&] {
    if (!is_dns_label(entry.name))
      refuse("its name must have at most 63 lower-case letters, digits and dashes, with no dash at an end; rename it");
    return parse_manifest(read_whole(OwnedFile::in(folder, entry.name + std::string(kSuffix)), kMostManifestBytes));
  });
  entry.description = manifest.description;
  entry.card = manifest.card;
  entry.file = folder.path() / manifest.file;
  entry.sha256 = manifest.sha256;
  entry.nodes = manifest.nodes;
  entry.clock_as_is = manifest.clock_as_is;
  about(entry.name, entry.file, [&] { read_header(folder, manifest, entry); });
  about(entry.name, entry.manifest, [&] { check_raw_keys(entry, manifest); });
  if (manifest.overlay.empty()) return;
  entry.overlay = folder.path() / manifest.overlay;
  about(entry.name, entry.overlay, [&] { check_overlay(folder, manifest); });
}

Entry read(const OwnedFile& folder, std::string name) {
  Entry entry{.name = std::move(name)};
  entry.manifest = folder.path() / (entry.name + std::string(kSuffix));
  try {
    read_entry(folder, entry);
  } catch (const cage::Error& error) {
    entry.fault = error.what();
  }
  return entry;
}

// Returns names and not paths, because every file is opened in the folder that was checked.
std::vector<std::string> names_in(const OwnedFile& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder.path(), error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    if (name.ends_with(kSuffix) && !name.starts_with('.'))
      names.push_back(name.substr(0, name.size() - kSuffix.size()));
  }
  if (error)
    refuse("the catalogue of bitstreams (" + folder.path().native() + ") cannot be listed: " + error.message() +
           "; look at its file system");
  std::ranges::sort(names);
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 10;
  if (names.empty()) return "; it is empty";
  std::string text = "; it has ";
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i > 0 ? ", " : "") + printable(names[i]);
  return names.size() > kMost ? text + " and " + std::to_string(names.size() - kMost) + " more" : text;
}

}  // namespace

Catalogue::Catalogue(fs::path folder) : folder_(std::move(folder)) {
  // open(2) follows a link if the path ends in a slash.
  if (!folder_.has_filename()) folder_ = folder_.parent_path();
}

OwnedFile Catalogue::open() const {
  try {
    return OwnedFile::folder(folder_);
  } catch (const cage::Error& error) {
    throw cage::Error(error.status(), "the catalogue of bitstreams (" + folder_.native() + "): " + error.what());
  }
}

Entry Catalogue::find(std::string_view name) const {
  std::optional<OwnedFile> folder;
  try {
    folder = open();
  } catch (const cage::Error& error) {
    if (error.status() != CAGE_NOT_FOUND) throw;
    throw cage::Error(CAGE_NOT_FOUND, "there is no bitstream '" + printable(name) + "': " + error.what() +
                                          "; create the folder and put the bitstream and its manifest there");
  }
  const std::string file = std::string(name) + std::string(kSuffix);
  if (!is_dns_label(name) ||
      (::faccessat(folder->fd(), file.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)) {
    const std::vector<std::string> names = names_in(*folder);
    const std::string hint = nearest_hint(name, names);
    throw cage::Error(CAGE_NOT_FOUND, "there is no bitstream '" + printable(name) + "' in the catalogue " +
                                          folder_.native() + (hint.empty() ? listed(names) : hint));
  }
  Entry entry = read(*folder, std::string(name));
  if (!entry.fault.empty()) throw cage::Error(CAGE_FAILED_PRECONDITION, entry.fault);
  return entry;
}

std::vector<Entry> Catalogue::all() const {
  std::vector<Entry> entries;
  try {
    const OwnedFile folder = open();
    for (std::string& name : names_in(folder)) entries.push_back(read(folder, std::move(name)));
  } catch (const cage::Error& error) {
    if (error.status() != CAGE_NOT_FOUND) throw;
  }
  return entries;
}

OwnedFile check_sha256(const Entry& entry, const std::function<void(unsigned percent)>& progress) {
  return about(entry.name, entry.file, [&] {
    OwnedFile file = open_named(OwnedFile::folder(entry.file.parent_path()), entry.file.filename(), "file");
    ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_SEQUENTIAL);
    Sha256 sum;
    std::vector<char> buffer(kReadSize);
    std::uint64_t done = 0;
    unsigned told = 0;
    if (progress) progress(0);
    while (const std::size_t count = file.read(done, buffer)) {
      sum.add(std::span(buffer).first(count));
      done += count;
      if (done > entry.size) break;  // it grew since its header was read
      const auto percent = static_cast<unsigned>(done * 100 / entry.size);
      if (progress && percent > told) progress(told = percent);
    }
    if (const std::string found = sum.finish(); found != entry.sha256)
      throw cage::Error(CAGE_DATA_LOSS, "its SHA-256 is " + found + ", the manifest has " + entry.sha256 +
                                            "; put back the file that was approved, or, if the new one is, write its "
                                            "sum into " +
                                            entry.manifest.native());
    return file;
  });
}

}  // namespace cardcage::fpga
