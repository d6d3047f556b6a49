// The page of a report: its parts, page.html, page.css and *.js of this folder, are put into the program when
// it is built, and into one file with the data when it runs.
#pragma once

#include <string>

#include "report_json.hpp"

namespace mylos::app {

[[nodiscard]] std::string report_page(const ordered_json& document);

}  // namespace mylos::app
