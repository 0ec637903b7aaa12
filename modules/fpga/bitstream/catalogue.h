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
  std::string sha256;              // what the file must have: 64 lower-case digits
  Bitstream bitstream;             // the header, and what the manifest adds to it
  std::vector<std::string> nodes;  // what containers get of a raw bitstream
  bool clock_as_is = false;        // it may be loaded though the user clock that it was built for cannot be set
  std::uint64_t size = 0;          // of the file
  std::string fault;               // why it cannot be used: subject, cause, remedy; empty: usable
};

// Reads the folder anew for each question, so a change counts at once. Reads headers only: what a file holds is checked
// by check_sha256().
class Catalogue {
 public:
  explicit Catalogue(std::filesystem::path folder);

  // Throws cage::Error: NOT_FOUND with the nearest name, FAILED_PRECONDITION with the fault.
  Entry find(std::string_view name) const;
  // Every manifest, also faulty ones, by name; nothing if there is no folder. Throws cage::Error if the folder itself
  // cannot be trusted.
  std::vector<Entry> all() const;

 private:
  OwnedFile open() const;

  std::filesystem::path folder_;
};

// Throws cage::Error with both hashes unless the file has the approved content. Returns the open file: what is read
// from it comes from the file that was checked, whatever the name leads to later. `progress` gets 0 to 100, each number
// once; it may be empty.
OwnedFile check_sha256(const Entry& entry, const std::function<void(unsigned percent)>& progress);

}  // namespace cardcage::fpga
