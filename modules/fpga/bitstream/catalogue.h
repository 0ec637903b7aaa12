// The bitstreams that may be programmed. The catalogue is a folder that belongs to root: one TOML manifest for each
// bitstream, and the files that they name. Claims name entries and never paths.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "modules/fpga/bitstream/bitstream.h"
#include "modules/fpga/bitstream/owned_file.h"

namespace cardcage::fpga {

struct Entry {
  std::string name;         // the manifest's file name without .toml: a DNS label
  std::string description;  // one line for people, or empty
  std::string card;         // the only model that it is for; empty: any
  std::filesystem::path manifest, file;
  std::filesystem::path overlay;   // empty: none
  std::string sha256;              // the approved hash of the file: 64 lower-case digits
  Bitstream bitstream;             // the header, completed from the manifest
  std::vector<std::string> nodes;  // the device nodes that containers get with a raw bitstream
  bool clock_as_is = false;        // loads although the clock that it was built for cannot be set
  std::uint64_t size = 0;          // bytes in the file
  std::string fault;               // why it cannot be used: subject, cause, remedy; empty: usable
};

// Reads the folder for each call, so a change counts at once. Reads headers only: check_sha256() checks the
// content of a file.
class Catalogue {
 public:
  explicit Catalogue(std::filesystem::path folder);

  // Throws cage::Error: NOT_FOUND with the nearest name, FAILED_PRECONDITION with the fault.
  Entry find(std::string_view name) const;
  // Returns every manifest by name, faulty ones included, and nothing without a folder. Throws cage::Error if the
  // folder itself cannot be trusted.
  std::vector<Entry> all() const;

 private:
  OwnedFile open() const;

  std::filesystem::path folder_;
};

// Throws cage::Error with both hashes unless the file has the approved content. Returns the open file, so that the
// caller reads the file that was checked even if another one has its name by then. `progress` gets 0 to 100, each
// number once; it may be empty.
OwnedFile check_sha256(const Entry& entry, const std::function<void(unsigned percent)>& progress);

}  // namespace cardcage::fpga
