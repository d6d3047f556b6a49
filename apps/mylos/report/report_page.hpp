// The page of a report. The build embeds its parts, page.html, page.css and *.js of this folder, in the
// program; the program writes them into one file with the data.
#pragma once

#include <string>

#include "report_json.hpp"

namespace mylos::app {

[[nodiscard]] std::string report_page(const ordered_json& document);

}  // namespace mylos::app
