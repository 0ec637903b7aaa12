// Boost.JSON parses the text that the writer produces.
#include "host/core/json_fields.h"

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace cardcage {
namespace {

struct Inner {
  std::string text;
  std::vector<std::string> list;
  friend bool operator==(const Inner&, const Inner&) = default;
};
template <class Fields>
void describe(Fields& fields, Inner& inner) {
  fields("text", inner.text);
  fields("list", inner.list);
}

struct Outer {
  bool flag = false;
  std::int64_t number = 0;
  std::optional<std::uint32_t> maybe;
  std::map<std::string, Inner> map;
  std::vector<Inner> inners;
  std::chrono::system_clock::time_point time;
  friend bool operator==(const Outer&, const Outer&) = default;
};
template <class Fields>
void describe(Fields& fields, Outer& outer) {
  fields("flag", outer.flag);
  fields("number", outer.number);
  fields("maybe", outer.maybe);
  fields("map", outer.map);
  fields("inners", outer.inners);
  fields("time", outer.time);
}

TEST(JsonFields, MembersWithTheirDefaultAreLeftOut) {
  EXPECT_EQ(to_json_text(Outer()), "{}");
  EXPECT_EQ(to_json_text(Outer{.number = -7}), R"({"number":-7})");
  EXPECT_EQ(to_json_text(Outer{.flag = true, .maybe = 0}), R"({"flag":true,"maybe":0})");
}

TEST(JsonFields, WhatIsWrittenIsReadAsItWas) {
  const std::string odd("quote \" backslash \\ newline \n bell \a zero \0 slash / é \u2028", 55);
  const Outer outer{.flag = true,
                    .number = std::numeric_limits<std::int64_t>::min(),
                    .maybe = 4'294'967'295u,
                    .map = {{"", {}}, {"{", {.text = odd, .list = {}}}, {odd, {.text = "", .list = {"", odd}}}},
                    .inners = {{}, {.text = "a", .list = {"b"}}, {}},
                    .time = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'764'172'800'123))};
  const std::string text = to_json_text(outer);
  boost::system::error_code bad;
  const json::value parsed = json::parse(text, bad);
  ASSERT_FALSE(bad) << text;
  EXPECT_EQ(json::serialize(parsed), text);
  Outer read;
  ASSERT_TRUE(from_json_value(parsed, read));
  EXPECT_EQ(read, outer);
}

}  // namespace
}  // namespace cardcage
