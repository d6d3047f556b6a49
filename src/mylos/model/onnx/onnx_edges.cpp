#include "mylos/model/onnx/onnx_edges.hpp"

#include <algorithm>
#include <limits>

namespace mylos {
namespace {

constexpr std::int64_t to_end = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t first_grid_axis = 2;  // after batch and channels

/// An axis with points beyond its edges, and its place in a file's shape.
struct EdgeAxis {
  std::size_t place;
  std::int64_t points;
  std::int64_t padding;
  PaddingKind kind;

  [[nodiscard]] std::int64_t axis() const { return static_cast<std::int64_t>(place); }
};

/// Returns the axes that have such points; one with poles comes first.
std::vector<EdgeAxis> edge_axes(const GridEdges& edges, std::size_t axes) {
  std::vector<EdgeAxis> all;
  for (std::size_t axis = 3 - axes; axis < 3; ++axis) {
    if (edges.padding[axis] == 0) continue;
    all.push_back({axis - (3 - axes) + first_grid_axis, edges.grid.extent[axis], edges.padding[axis],
                   edges.kinds[axis]});
  }
  std::stable_partition(all.begin(), all.end(),
                        [](const EdgeAxis& each) { return each.kind == PaddingKind::pole; });
  return all;
}

/// Returns rows turned by half of the points around the poles.
std::string opposite(OnnxBuilder& graph, const GridEdges& edges, const std::string& rows, std::size_t axes) {
  const auto around = static_cast<std::size_t>(edges.kinds.axis_of(PaddingKind::periodic));
  const auto axis = static_cast<std::int64_t>(around - (3 - axes) + first_grid_axis);
  const std::int64_t half = edges.grid.extent[around] / 2;
  return graph.node("Concat", {graph.slice(rows, axis, half, to_end), graph.slice(rows, axis, 0, half)},
                    {{"axis", axis}});
}

bool has_any(const OnnxNumbers& numbers) {
  return std::any_of(numbers.begin(), numbers.end(), [](std::int64_t number) { return number != 0; });
}

}  // namespace

// The mode "wrap" of Pad came with opset 19.
std::string with_edges(OnnxBuilder& graph, const GridEdges& edges, std::string x, OnnxType type,
                       std::size_t axes) {
  OnnxNumbers mirrored(axes + first_grid_axis, 0);
  OnnxNumbers zeros = mirrored;
  for (const EdgeAxis& edge : edge_axes(edges, axes)) {
    const std::int64_t axis = edge.axis();
    if (edge.kind == PaddingKind::reflect) {
      mirrored[edge.place] = edge.padding;
    } else if (edge.kind == PaddingKind::zero) {
      zeros[edge.place] = edge.padding;
    } else if (edge.kind == PaddingKind::pole) {
      const std::string before = graph.reversed(x, axis, edge.padding, edge.padding);
      const std::string after = graph.reversed(x, axis, edge.points, edge.padding);
      x = graph.node("Concat", {opposite(graph, edges, before, axes), x, opposite(graph, edges, after, axes)},
                     {{"axis", axis}});
    } else {
      const std::string before = graph.slice(x, axis, edge.points - edge.padding, to_end);
      const std::string after = graph.slice(x, axis, 0, edge.padding);
      x = graph.node("Concat", {before, x, after}, {{"axis", axis}});
    }
  }
  if (has_any(mirrored)) x = graph.pad(x, type, "reflect", mirrored, mirrored);
  return has_any(zeros) ? graph.pad(x, type, "constant", zeros, zeros) : x;
}

std::string folded_edges(OnnxBuilder& graph, const GridEdges& edges, std::string x, OnnxType type,
                         std::size_t axes) {
  std::vector<EdgeAxis> all = edge_axes(edges, axes);
  // In the opposite order of with_edges(): the rows beyond a pole have been folded along the other axes.
  std::stable_partition(all.begin(), all.end(),
                        [](const EdgeAxis& each) { return each.kind != PaddingKind::pole; });
  for (const EdgeAxis& edge : all) {
    const std::int64_t axis = edge.axis();
    const std::int64_t count = edge.padding;
    const std::int64_t points = edge.points;
    const std::int64_t end = points + 2 * count;
    const std::string core = graph.slice(x, axis, count, count + points);
    if (edge.kind == PaddingKind::zero) {
      x = core;
      continue;
    }
    const auto placed = [&](const std::string& part, std::int64_t first) {
      OnnxNumbers before(axes + first_grid_axis, 0), after(axes + first_grid_axis, 0);
      before[edge.place] = first;
      after[edge.place] = points - count - first;
      return graph.pad(part, type, "constant", before, after);
    };
    std::string low, high;
    if (edge.kind == PaddingKind::periodic) {
      low = placed(graph.slice(x, axis, 0, count), points - count);
      high = placed(graph.slice(x, axis, end - count, end), 0);
    } else {
      low = graph.reversed(x, axis, count, count);
      high = graph.reversed(x, axis, end, count);
      const bool is_pole = edge.kind == PaddingKind::pole;
      low = is_pole ? placed(opposite(graph, edges, low, axes), 0) : placed(low, 1);
      high = is_pole ? placed(opposite(graph, edges, high, axes), points - count)
                     : placed(high, points - 1 - count);
    }
    x = graph.node("Add", {graph.node("Add", {core, low}), high});
  }
  return x;
}

}  // namespace mylos
