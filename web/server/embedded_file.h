// A file inside the program. cardcage_embed() of cmake/Embed.cmake makes a library of files.
#pragma once

#include <string_view>

namespace cardcage {

struct EmbeddedFile {
  std::string_view path;  // as requested: "/page.js", and "/" for index.html
  std::string_view content_type;
  std::string_view etag;  // strong, with its quotes
  std::string_view body;
};

}  // namespace cardcage
