// All data of one run for the page, collected from its folder and reduced.
#pragma once

#include <cstddef>
#include <string>

#include "report_json.hpp"
#include "run_progress.hpp"

namespace mylos::app {

/// The limits of the page for each run.
struct ReportBounds {
  std::size_t points = 2000;   // of a curve
  std::size_t cells = 30'000;  // of a heat map
};

/// The limits for `runs` runs that share one page.
[[nodiscard]] ReportBounds bounds_for(std::size_t runs);

/// `folder`: from open_run_folder(). The document's `notes` list damaged and missing files.
[[nodiscard]] Report report_of(const std::string& folder, const ReportBounds& bounds);

}  // namespace mylos::app
