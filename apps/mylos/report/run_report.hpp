// All that a page says of one run, gathered from its folder and reduced.
#pragma once

#include <cstddef>
#include <string>

#include "report_json.hpp"
#include "run_progress.hpp"

namespace mylos::app {

/// What the page has room for, of each run.
struct ReportBounds {
  std::size_t points = 2000;   // of a curve
  std::size_t cells = 30'000;  // of a heat map
};

/// So many runs share what one page may have.
[[nodiscard]] ReportBounds bounds_for(std::size_t runs);

struct RunReport {
  ordered_json document;
  RunProgress progress = RunProgress::unfinished;
};

/// `folder`: of open_run_folder(). What is damaged or missing is said in the document's `notes`.
[[nodiscard]] RunReport report_of(const std::string& folder, const ReportBounds& bounds);

}  // namespace mylos::app
