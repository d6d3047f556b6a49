// What changes the shape of a value alone, and Pad and Slice, which are the edges of a convolution.
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "mylos/base/errors/contents.hpp"
#include "mylos/interchange/onnx_import/graph/broadcasting.hpp"
#include "mylos/interchange/onnx_import/graph/constant_folding.hpp"
#include "mylos/interchange/onnx_import/importer.hpp"

namespace mylos {
namespace {

FileValue unpadded(Importer& importer, const ForeignNode& node) {
  FileValue x = importer.value(node, 0);
  if (x.edges.any())
    importer.refuse(node, "reads the result of a Pad; in Mylos only convolutions pad their input");
  return x;
}

/// Sets the result: x with this shape without the batch.
void reshape(Importer& importer, const ForeignNode& node, FileValue x, OnnxNumbers shape) {
  const auto size = elements_of(shape, x.columns());
  if (size != x.columns())
    importer.refuse(node, "makes [batch, {}] of {}; a sample must keep its numbers", fmt::join(shape, ", "),
                    x.text());
  x.shape = std::move(shape);
  importer.set(node, std::move(x));
}

void import_reshape(Importer& importer, const ForeignNode& node) {
  FileValue x = unpadded(importer, node);
  OnnxNumbers target = importer.integers(node, 1, "shape").value_or(OnnxNumbers{});
  if (target.empty()) importer.refuse(node, "makes a number of {}; the batch must stay", x.text());
  const std::int64_t batch = importer.graph.inputs.front().dims.front();
  const bool allows_zero = node.get<std::int64_t>("allowzero", 0) != 0;
  const std::int64_t first = target.front();
  const bool keeps_batch =
      first == batch_extent || first == -1 || (first == 0 && !allows_zero) || (batch > 0 && first == batch);
  if (!keeps_batch)
    importer.refuse(node, "makes {} of the batch of {}; samples must stay apart", first, x.text());
  OnnxNumbers shape(target.begin() + 1, target.end());
  // [points of all samples, channels], as matrices read them: the samples stay apart.
  if (first == -1 && shape == OnnxNumbers{x.channels} && x.points() > 1 && x.is_channels_last())
    return importer.set(node, std::move(x));
  // skl2onnx ends its regressions with the numbers of all samples in one column.
  if (first == -1 && shape == OnnxNumbers{1} && x.is_vector() &&
      node.outputs.front() == importer.graph.outputs.front().name)
    return importer.set(node, std::move(x));
  std::optional<std::size_t> open;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !allows_zero && i < x.shape.size()) shape[i] = x.shape[i];
    if (shape[i] == -1 && !open) {
      open = i;
    } else if (shape[i] < 1 || shape[i] > x.columns() / known) {
      importer.refuse(node, "does not keep the {} numbers of a sample of {}", x.columns(), x.text());
    } else {
      known *= shape[i];
    }
  }
  if (open && first == -1) importer.refuse(node, "leaves two extents open");
  if (open) shape[*open] = x.columns() / known;
  reshape(importer, node, std::move(x), std::move(shape));
}

void import_flatten(Importer& importer, const ForeignNode& node) {
  FileValue x = unpadded(importer, node);
  const std::int64_t axis = node.get<std::int64_t>("axis", 1);
  if (axis != 1 && axis + static_cast<std::int64_t>(x.shape.size()) + 1 != 1)
    importer.refuse(node, "flattens {} from axis {} on; Mylos flattens samples, axis 1", x.text(), axis);
  const std::int64_t columns = x.columns();
  reshape(importer, node, std::move(x), {columns});
}

void import_squeeze(Importer& importer, const ForeignNode& node) {
  FileValue x = unpadded(importer, node);
  const auto axes = importer.integers(node, 1, "axes");
  std::vector<bool> drops(x.shape.size(), false);
  for (std::size_t i = 0; i < drops.size(); ++i) drops[i] = !axes && x.shape[i] == 1;
  for (const std::int64_t axis : axes.value_or(OnnxNumbers{})) drops[importer.axis_of(node, axis, x)] = true;
  OnnxNumbers shape;
  for (std::size_t i = 0; i < drops.size(); ++i) {
    if (!drops[i]) shape.push_back(x.shape[i]);
  }
  reshape(importer, node, std::move(x), std::move(shape));
}

void import_unsqueeze(Importer& importer, const ForeignNode& node) {
  FileValue x = unpadded(importer, node);
  OnnxNumbers axes = importer.integers(node, 1, "axes").value_or(OnnxNumbers{});
  OnnxNumbers shape = x.shape;
  if (axes.size() > 4) importer.refuse(node, "adds {} axes to {}; at most 4 are read", axes.size(), x.text());
  const auto rank = static_cast<std::int64_t>(x.shape.size() + axes.size()) + 1;
  for (std::int64_t& axis : axes) axis = axis < 0 ? axis + rank : axis;
  std::sort(axes.begin(), axes.end());
  for (const std::int64_t axis : axes) {
    if (axis < 1 || axis > static_cast<std::int64_t>(shape.size()) + 1)
      importer.refuse(node, "adds axis {} to {}; the batch must stay the first", axis, x.text());
    shape.insert(shape.begin() + (axis - 1), 1);
  }
  reshape(importer, node, std::move(x), std::move(shape));
}

void import_transpose(Importer& importer, const ForeignNode& node) {
  const FileValue x = unpadded(importer, node);
  OnnxNumbers order = node.get<OnnxNumbers>("perm", {});
  if (order.empty()) {
    order.resize(x.shape.size() + 1);
    std::iota(order.rbegin(), order.rend(), 0);
  }
  if (order.front() != 0)
    importer.refuse(node, "moves the batch of {}; Mylos computes each sample alone", x.text());
  order.erase(order.begin());
  for (std::int64_t& axis : order) --axis;
  auto y = with_axes_permuted(x, order);
  if (!y) importer.refuse(node, "permutes {}, whose axes are not those of a grid and its channels", x.text());
  importer.set(node, std::move(*y));
}

void import_pad(Importer& importer, const ForeignNode& node) {
  FileValue x = importer.value(node, 0);
  const auto pads = importer.integers(node, 1, "pads");
  const auto mode = node.get<std::string>("mode", "constant");
  const std::size_t rank = x.shape.size() + 1;
  OnnxNumbers axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (const auto given = importer.integers(node, 3, "axes")) axes = *given;
  if (!pads || pads->size() != 2 * axes.size())
    fail_input(errors::damaged, "{} has no pads for both ends of each axis", describe(importer.graph, node));
  if (std::all_of(pads->begin(), pads->end(), [](std::int64_t n) { return n == 0; }))
    return importer.set(node, std::move(x));
  if (!x.is_channels_first())
    importer.refuse(node, "pads {}; Mylos pads the grid [batch, channels, extents ...] before a convolution",
                    x.text());
  const ForeignTensor* const value = importer.constant(node, 2);
  const bool is_zero = !node.has_input(2) ||
                       (value != nullptr && !value->is_integer && value->size() == 1 && value->reals[0] == 0);
  const std::map<std::string, Padding> kinds{
      {"constant", Padding::zero}, {"reflect", Padding::reflect}, {"wrap", Padding::periodic}};
  const auto kind = kinds.find(mode);
  if (kind == kinds.end() || (mode == "constant" && !is_zero))
    importer.refuse(
        node,
        "pads with other values than zeros, reflected or periodic ones, which convolutions of Mylos have");
  AddedPoints edges = x.edges;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t before = (*pads)[i];
    const std::int64_t after = (*pads)[axes.size() + i];
    if (before == 0 && after == 0) continue;
    const std::size_t axis = importer.axis_of(node, axes[i], x);
    if (axis == 0 || before < 0 || after < 0 || before > max_kernel || after > max_kernel)
      importer.refuse(node, "pads an axis of {} by {} and {}; Mylos pads extents by 0 to {}", x.text(),
                      before, after, max_kernel);
    if (x.edges.any(axis - 1))
      importer.refuse(node, "pads an axis of {} again; Mylos pads an axis once before a convolution",
                      x.text());
    edges.add(x.extents.size(), axis - 1, kind->second, before, after);
    x.shape[axis] += before + after;
  }
  x.edges = std::move(edges);
  importer.set(node, std::move(x));
}

/// A slice is the beginning or the end of a grid, for the concatenation that makes periodic edges.
void import_slice(Importer& importer, const ForeignNode& node) {
  const FileValue x = importer.value(node, 0);
  const auto starts = importer.integers(node, 1, "starts");
  const auto ends = importer.integers(node, 2, "ends");
  const auto axes = importer.integers(node, 3, "axes");
  const OnnxNumbers steps = importer.integers(node, 4, "steps").value_or(OnnxNumbers{1});
  const bool is_plain = starts && ends && axes && starts->size() == 1 && ends->size() == 1 &&
                        axes->size() == 1 && steps == OnnxNumbers{1};
  if (!is_plain || !x.is_channels_first())
    importer.refuse(node, "takes a part of {}; Mylos reads parts of one axis in periodic edges alone",
                    x.text());
  const std::size_t axis = importer.axis_of(node, axes->front(), x);
  const std::int64_t extent = x.shape[axis];
  const auto bound = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + extent : at, 0, extent);
  };
  const std::int64_t begin = bound(starts->front());
  importer.set(node, GridSlice{node.inputs[0], axis, begin, std::max(begin, bound(ends->front()))});
}

}  // namespace

const ImportTable& shape_operators() {
  static const ImportTable table{{"Reshape", import_reshape},     {"Flatten", import_flatten},
                                 {"Squeeze", import_squeeze},     {"Unsqueeze", import_unsqueeze},
                                 {"Transpose", import_transpose}, {"Pad", import_pad},
                                 {"Slice", import_slice}};
  return table;
}

}  // namespace mylos
