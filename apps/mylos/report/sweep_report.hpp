// All data of one sweep for the page, collected from its folder and those of its members.
#pragma once

#include <string>

#include "report_json.hpp"
#include "run_progress.hpp"

namespace mylos::app {

/// `folder`: of is_sweep(). The document's `notes` list damaged and missing files.
[[nodiscard]] Report report_of_sweep(const std::string& folder);

}  // namespace mylos::app
