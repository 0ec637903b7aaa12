// The documents quote the real output of cagectl.
#include <gtest/gtest.h>

#include <regex>

#include "host/core/file.h"
#include "tests/fakes/source_folder.h"

namespace cardcage {
namespace {

TEST(OperatorDocTest, QuotesMatchTheGoldenFiles) {
  const std::filesystem::path source = source_folder();
  const std::string doc = read_file(source / "docs/operator.md", 1'000'000).value() +
                          read_file(source / "docs/module-author.md", 1'000'000).value() +
                          read_file(source / "docs/nvidia.md", 1'000'000).value();
  static const std::regex quote("<!-- (tests/golden/ctl/[a-z_.]+) -->\n```text\n\\$ cagectl [^\n]*\n");
  int quotes = 0;
  for (std::sregex_iterator match(doc.begin(), doc.end(), quote), end; match != end; ++match, ++quotes) {
    const auto begin = static_cast<std::size_t>(match->position() + match->length());
    EXPECT_EQ(doc.substr(begin, doc.find("```", begin) - begin),
              read_file(source / (*match)[1].str(), 100'000).value_or("(missing)"));
  }
  EXPECT_EQ(quotes, 18);
}

}  // namespace
}  // namespace cardcage
