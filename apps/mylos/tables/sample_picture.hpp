// A picture of one sample: a panel for each channel of its inputs and targets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mylos::app {

/// One channel of a sample.
struct Panel {
  std::string title;                  // "u(t-1)"
  std::string scale;                  // panels with the same text share the range of their colours
  std::vector<std::int64_t> extents;  // of the grid, 1 to 3; of three the middle plane of the first is drawn
  std::vector<float> values;          // row-major
  bool upward = false;                // the first row is the lowest one of the drawing
};

/// Panels side by side, below a heading.
struct PanelRow {
  std::string heading;
  std::vector<Panel> panels;
};

/// Returns the contents of an SVG file: the panels with their titles and ranges, curves on 1-D grids and
/// colours on others; readable on light and dark pages.
[[nodiscard]] std::string svg_of(const std::vector<PanelRow>& rows);

/// Returns the contents of a PNG file: the panels alone, in the same order; 1-D grids are stripes.
[[nodiscard]] std::string png_of(const std::vector<PanelRow>& rows);

/// The numbers of the darkest and of the lightest colour, of every text of Panel::scale in order of its first
/// panel. Values that are not finite do not count.
struct ColourRange {
  std::string scale;
  double low = 0;
  double high = 0;
};
[[nodiscard]] std::vector<ColourRange> colour_ranges(const std::vector<PanelRow>& rows);

}  // namespace mylos::app
