// SPDX-License-Identifier: Apache-2.0
// Attributes of devices and of catalogue entries. Included by sdk.hpp.
#ifndef CARDCAGE_SDK_ATTRIBUTES_HPP_
#define CARDCAGE_SDK_ATTRIBUTES_HPP_

#include <cardcage/sdk/text.hpp>

#include <type_traits>
#include <variant>

namespace cage {

struct Version {  // semver 2.0.0: "1.2.3"
  std::string text;
};

namespace detail {

struct Attribute {
  std::string name;
  std::uint32_t type;
  std::variant<std::int64_t, std::string, std::vector<std::int64_t>, std::vector<std::string>> value;
};

class Attributes {
 public:
  // Takes bool, integers, text, Version, and vectors of bool, std::int64_t, std::string or Version. Text that is no
  // value of an attribute becomes one: attribute_text().
  template <class T>
  void add(std::string name, const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      append({std::move(name), CAGE_ATTR_BOOL, std::int64_t{value}});
    } else if constexpr (std::is_integral_v<T>) {
      append({std::move(name), CAGE_ATTR_INT, static_cast<std::int64_t>(value)});
    } else if constexpr (std::is_same_v<T, Version>) {
      append({std::move(name), CAGE_ATTR_VERSION, value.text});
    } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
      append({std::move(name), CAGE_ATTR_INT | CAGE_ATTR_LIST, value});
    } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
      std::vector<std::int64_t> numbers(value.begin(), value.end());
      append({std::move(name), CAGE_ATTR_BOOL | CAGE_ATTR_LIST, std::move(numbers)});
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      std::vector<std::string> texts;
      for (const std::string& text : value) texts.push_back(attribute_text(text));
      append({std::move(name), CAGE_ATTR_STRING | CAGE_ATTR_LIST, std::move(texts)});
    } else if constexpr (std::is_same_v<T, std::vector<Version>>) {
      std::vector<std::string> texts;
      for (const Version& version : value) texts.push_back(version.text);
      append({std::move(name), CAGE_ATTR_VERSION | CAGE_ATTR_LIST, std::move(texts)});
    } else {
      append({std::move(name), CAGE_ATTR_STRING, attribute_text(std::string_view(value))});
    }
  }

  const std::vector<Attribute>& all() const { return all_; }

 private:
  void append(Attribute attribute) { all_.push_back(std::move(attribute)); }

  std::vector<Attribute> all_;
};

// The attributes in the form of the ABI. They borrow the texts and numbers.
class RawAttributes {
 public:
  explicit RawAttributes(const Attributes& attributes) : texts_(attributes.all().size()) {
    raw_.reserve(texts_.size());
    for (const Attribute& attribute : attributes.all()) raw_.push_back(raw(attribute, texts_[raw_.size()]));
  }
  RawAttributes(const RawAttributes&) = delete;
  RawAttributes& operator=(const RawAttributes&) = delete;

  const cage_attr* data() const { return raw_.data(); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(raw_.size()); }

 private:
  // `texts` keeps the elements of a list of texts.
  static cage_attr raw(const Attribute& attribute, std::vector<cage_str>& texts) {
    cage_attr out{};
    out.name = detail::raw(attribute.name);
    out.type = attribute.type;
    out.count = 1;
    if (const auto* number = std::get_if<std::int64_t>(&attribute.value)) {
      out.v.i = *number;
    } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
      out.v.s = detail::raw(*text);
    } else if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
      out.v.ints = numbers->data();
      out.count = static_cast<std::uint32_t>(numbers->size());
    } else {
      texts = raw_list(std::get<std::vector<std::string>>(attribute.value));
      out.v.strs = texts.data();
      out.count = static_cast<std::uint32_t>(texts.size());
    }
    return out;
  }

  std::vector<std::vector<cage_str>> texts_;
  std::vector<cage_attr> raw_;
};

}  // namespace detail
}  // namespace cage

#endif  // CARDCAGE_SDK_ATTRIBUTES_HPP_
