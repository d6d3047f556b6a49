// The files of the page, as cmake/EmbedFiles.cmake puts them into a source file.
#pragma once

#include <string_view>

namespace mylos::app {

extern const std::string_view page_html;
extern const std::string_view page_style;
extern const std::string_view page_script;  // all *.js, in the order of CMakeLists.txt

}  // namespace mylos::app
