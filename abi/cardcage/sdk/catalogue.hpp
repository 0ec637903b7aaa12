// SPDX-License-Identifier: Apache-2.0
// Entries that claims may name in their parameters. Included by sdk.hpp.
#ifndef CARDCAGE_SDK_CATALOGUE_HPP_
#define CARDCAGE_SDK_CATALOGUE_HPP_

#include <cardcage/sdk/attributes.hpp>

namespace cage {

// An entry to report. Setters chain: out.add(cage::Entry("bitstream", "aes").detail("AES at 300 MHz"));
class Entry {
 public:
  Entry(std::string kind, std::string name) : kind_(std::move(kind)), name_(std::move(name)) {}

  // A description, for people.
  Entry& detail(std::string text) {
    detail_ = std::move(text);
    return *this;
  }
  // Claims cannot name it; `why` has subject, cause and remedy.
  Entry& refused(std::string why) {
    flags_ = CAGE_CATALOGUE_REFUSED;
    return detail(std::move(why));
  }
  // The values are as those of attributes of devices.
  template <class T>
  Entry& attribute(std::string name, const T& value) {
    attributes_.add(std::move(name), value);
    return *this;
  }

 private:
  friend class Catalogue;
  cage_status report(cage_catalogue_sink* sink) const {
    const detail::RawAttributes attributes(attributes_);
    cage_catalogue_entry entry{};
    entry.struct_size = sizeof entry;
    entry.flags = flags_;
    entry.kind = detail::raw(kind_);
    entry.name = detail::raw(name_);
    entry.detail = detail::raw(detail_);
    entry.attrs = attributes.data();
    entry.attr_count = attributes.size();
    return sink->entry(sink, &entry);
  }

  std::string kind_, name_, detail_;
  std::uint32_t flags_ = 0;
  detail::Attributes attributes_;
};

// Every entry, each time.
class Catalogue {
 public:
  explicit Catalogue(cage_catalogue_sink* sink) : sink_(sink) {}

  // Returns false if the host refused the entry and logged why; the others still count.
  bool add(const Entry& entry) { return entry.report(sink_) == CAGE_OK; }

 private:
  cage_catalogue_sink* sink_;
};

}  // namespace cage

#endif  // CARDCAGE_SDK_CATALOGUE_HPP_
