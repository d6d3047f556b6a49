#include "tables/sample_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mylos/io/pictures/picture.hpp"

namespace mylos::app {
namespace {

constexpr std::int64_t panel_side = 200;  // pixels of a panel's longer side, at least
constexpr std::int64_t curve_height = 120;
constexpr std::int64_t stripe_height = 24;
constexpr std::int64_t panel_gap = 12;
constexpr std::int64_t line_height = 18;  // of text
constexpr std::size_t max_in_line = 6;
constexpr Colour background{0x80, 0x80, 0x80};
constexpr Colour outline{0x10, 0x10, 0x10};  // of what has no value

const ColourRange& range_of(const std::vector<ColourRange>& ranges, const Panel& panel) {
  return *std::ranges::find(ranges, panel.scale, &ColourRange::scale);
}

/// 0 to 1 in the range; of a single value one half.
double level_of(double value, const ColourRange& range) {
  if (!std::isfinite(value)) return value;
  return range.high > range.low ? (value - range.low) / (range.high - range.low) : 0.5;
}

struct Plane {
  std::int64_t height = 1;
  std::int64_t width = 1;
  const float* values = nullptr;
};

/// The panel's grid, or its middle plane.
Plane plane_of(const Panel& panel) {
  const std::vector<std::int64_t>& extents = panel.extents;
  Plane plane;
  plane.width = extents.back();
  if (extents.size() > 1) plane.height = extents[extents.size() - 2];
  const std::int64_t middle = extents.size() > 2 ? extents.front() / 2 : 0;
  plane.values = panel.values.data() + middle * plane.height * plane.width;
  return plane;
}

/// Pixels of one point of the grid: a whole number, or several points a pixel.
struct Magnification {
  std::int64_t pixels = 1;
  std::int64_t points = 1;
};
Magnification magnification_of(std::int64_t extent) {
  constexpr std::int64_t max_side = 1024;
  if (extent > max_side) return {1, (extent + max_side - 1) / max_side};
  return {std::max<std::int64_t>(1, (panel_side + extent - 1) / extent), 1};
}

/// Draws the coast: the blank pixels beside those that have a value.
void draw_outline(Picture& picture, const std::vector<bool>& is_blank) {
  const auto is_known = [&](std::int64_t row, std::int64_t column) {
    const bool is_inside = row >= 0 && row < picture.height && column >= 0 && column < picture.width;
    return is_inside && !is_blank[static_cast<std::size_t>(row * picture.width + column)];
  };
  for (std::int64_t row = 0; row < picture.height; ++row) {
    for (std::int64_t column = 0; column < picture.width; ++column) {
      const bool touches = is_known(row - 1, column) || is_known(row + 1, column) ||
                           is_known(row, column - 1) || is_known(row, column + 1);
      if (!is_known(row, column) && touches) picture.at(row, column) = outline;
    }
  }
}

Picture picture_of(const Panel& panel, const ColourRange& range) {
  const Plane plane = plane_of(panel);
  const bool is_stripe = panel.extents.size() == 1;
  const Magnification m = magnification_of(std::max(plane.height, plane.width));
  const std::int64_t width = (plane.width + m.points - 1) / m.points * m.pixels;
  const std::int64_t height = is_stripe ? stripe_height : (plane.height + m.points - 1) / m.points * m.pixels;
  Picture picture(height, width, background);
  std::vector<bool> is_blank(picture.pixels.size());
  for (std::int64_t row = 0; row < height; ++row) {
    const std::int64_t shown = panel.upward ? height - 1 - row : row;
    const std::int64_t y = is_stripe ? 0 : shown / m.pixels * m.points;
    for (std::int64_t column = 0; column < width; ++column) {
      const std::int64_t x = column / m.pixels * m.points;
      const auto value = static_cast<double>(plane.values[y * plane.width + x]);
      if (std::isfinite(value))
        picture.at(row, column) = viridis(level_of(value, range));
      else
        is_blank[static_cast<std::size_t>(row * width + column)] = true;
    }
  }
  draw_outline(picture, is_blank);
  return picture;
}

std::string data_uri(const Picture& picture) {
  return "data:image/png;base64," + base64_of(mylos::png_of(picture));
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

std::string text_at(std::int64_t x, std::int64_t y, const char* anchor, std::string_view text) {
  return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, escaped(text));
}

/// The values of a 1-D grid from left to right, low ones below; a panel_gap where a value is not finite.
std::string curve_of(const Panel& panel, const ColourRange& range, std::int64_t x, std::int64_t y,
                     std::int64_t width) {
  std::string path;
  bool draws = false;
  const auto last = static_cast<double>(std::max<std::size_t>(1, panel.values.size() - 1));
  for (std::size_t i = 0; i < panel.values.size(); ++i) {
    const double level = level_of(static_cast<double>(panel.values[i]), range);
    if (std::isfinite(level)) {
      path += fmt::format("{}{:.1f},{:.1f}", draws ? "L" : "M",
                          static_cast<double>(x) + static_cast<double>(width) * static_cast<double>(i) / last,
                          static_cast<double>(y) + (1 - level) * static_cast<double>(curve_height));
    }
    draws = std::isfinite(level);
  }
  return fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"frame\"/>\n<path d=\"{}\" "
      "class=\"curve\"/>\n",
      x, y, width, curve_height, path);
}

struct Size {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

/// Of a panel as it is drawn, without its texts.
Size size_of(const Panel& panel) {
  if (panel.extents.size() == 1) return {panel_side, curve_height};
  const Plane plane = plane_of(panel);
  const double scale =
      static_cast<double>(panel_side) / static_cast<double>(std::max(plane.height, plane.width));
  const auto side = [scale](std::int64_t extent) {
    return std::max<std::int64_t>(1, std::llround(static_cast<double>(extent) * scale));
  };
  return {side(plane.width), side(plane.height)};
}

/// The panel below its title, and below it the range of its colours.
std::string drawn(const Panel& panel, const ColourRange& range, std::int64_t x, std::int64_t y) {
  const Size size = size_of(panel);
  std::string text = text_at(x, y + line_height - 5, "start", panel.title);
  y += line_height;
  if (panel.extents.size() == 1) {
    text += curve_of(panel, range, x, y, size.width);
  } else {
    text += fmt::format("<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" href=\"{}\"/>\n", x, y,
                        size.width, size.height, data_uri(picture_of(panel, range)));
    text += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"6\" fill=\"url(#viridis)\"/>\n", x,
                        y + size.height + 4, size.width);
  }
  y += size.height + line_height + 6;
  return text + text_at(x, y, "start", fmt::format("{:.4g}", range.low)) +
         text_at(x + size.width, y, "end", fmt::format("{:.4g}", range.high));
}

std::string definitions() {
  std::string stops;
  for (std::size_t i = 0; i < viridis_colours.size(); ++i) {
    const auto [red, green, blue] = viridis_colours[i];
    stops += fmt::format("<stop offset=\"{}\" stop-color=\"#{:02x}{:02x}{:02x}\"/>",
                         static_cast<double>(i) / static_cast<double>(viridis_colours.size() - 1), red, green,
                         blue);
  }
  return "<style>text{font:12px sans-serif;fill:#222}.head{font-weight:bold}image{image-rendering:pixelated}"
         ".frame{fill:none;stroke:#888}.curve{fill:none;stroke:#2c728e;stroke-width:1.5}"
         "@media(prefers-color-scheme:dark){svg{background:#181818}text{fill:#ddd}.curve{stroke:#35b3c9}}"
         "</style>\n<defs><linearGradient id=\"viridis\">" +
         stops + "</linearGradient></defs>\n";
}

}  // namespace

std::vector<ColourRange> colour_ranges(const std::vector<PanelRow>& rows) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<ColourRange> ranges;
  for (const PanelRow& row : rows) {
    for (const Panel& panel : row.panels) {
      auto range = std::ranges::find(ranges, panel.scale, &ColourRange::scale);
      if (range == ranges.end()) range = ranges.insert(range, {panel.scale, infinity, -infinity});
      for (const float value : panel.values) {
        if (!std::isfinite(value)) continue;
        range->low = std::min(range->low, static_cast<double>(value));
        range->high = std::max(range->high, static_cast<double>(value));
      }
    }
  }
  for (ColourRange& range : ranges)
    if (range.low > range.high) range.low = range.high = 0;  // no panel has a value
  return ranges;
}

std::string svg_of(const std::vector<PanelRow>& rows) {
  const std::vector<ColourRange> ranges = colour_ranges(rows);
  std::string body;
  std::int64_t y = panel_gap;
  std::int64_t width = 0;
  for (const PanelRow& row : rows) {
    if (row.panels.empty()) continue;
    body += fmt::format("<text x=\"{}\" y=\"{}\" class=\"head\">{}</text>\n", panel_gap, y + line_height - 5,
                        escaped(row.heading));
    y += line_height;
    for (std::size_t first = 0; first < row.panels.size(); first += max_in_line) {
      std::int64_t x = panel_gap;
      std::int64_t height = 0;
      for (std::size_t i = first; i < std::min(row.panels.size(), first + max_in_line); ++i) {
        const Panel& panel = row.panels[i];
        body += drawn(panel, range_of(ranges, panel), x, y);
        x += std::max(panel_side / 2, size_of(panel).width) + panel_gap;
        height = std::max(height, size_of(panel).height);
      }
      width = std::max(width, x);
      y += height + 2 * line_height + 6 + panel_gap;
    }
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\">\n{2}{3}"
      "</svg>\n",
      width, y, definitions(), body);
}

std::string png_of(const std::vector<PanelRow>& rows) {
  const std::vector<ColourRange> ranges = colour_ranges(rows);
  struct Placed {
    Picture picture;
    std::int64_t x;
    std::int64_t y;
  };
  std::vector<Placed> placed;
  std::int64_t y = panel_gap;
  std::int64_t width = 0;
  for (const PanelRow& row : rows) {
    const std::size_t in_line = row.panels.empty() || row.panels.front().extents.size() > 1 ? max_in_line : 1;
    for (std::size_t first = 0; first < row.panels.size(); first += in_line) {
      std::int64_t x = panel_gap;
      std::int64_t height = 0;
      for (std::size_t i = first; i < std::min(row.panels.size(), first + in_line); ++i) {
        const Panel& panel = row.panels[i];
        placed.push_back({picture_of(panel, range_of(ranges, panel)), x, y});
        x += placed.back().picture.width + panel_gap;
        height = std::max(height, placed.back().picture.height);
      }
      width = std::max(width, x);
      y += height + panel_gap;
    }
  }
  Picture page(y, width, background);
  for (Placed& part : placed) {
    for (std::int64_t row = 0; row < part.picture.height; ++row) {
      for (std::int64_t column = 0; column < part.picture.width; ++column)
        page.at(part.y + row, part.x + column) = part.picture.at(row, column);
    }
  }
  return mylos::png_of(page);
}

}  // namespace mylos::app
