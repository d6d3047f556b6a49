// Conv and ConvTranspose.
//
// Mylos pads both ends of an axis alike. Where a file does not (Keras' "same" with a stride of 2), the kernel
// gets taps of zeros at one end, which moves its window: the same outputs, with a few more weights.
#include <algorithm>

#include "mylos/base/errors/contents.hpp"
#include "mylos/interchange/onnx_import/importer.hpp"
#include "mylos/interchange/onnx_import/window_attributes.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {
namespace {

/// The kernel of a file, [rows, columns, extents ...], and the taps of zeros that it gets at both ends.
struct Kernel {
  OnnxNumbers dims;
  OnnxNumbers before;
  OnnxNumbers after;

  [[nodiscard]] std::size_t axes() const { return dims.size() - 2; }
  [[nodiscard]] OnnxNumbers extents() const {
    OnnxNumbers all(dims.begin() + 2, dims.end());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += before[i] + after[i];
    return all;
  }
};

/// Returns [rows][taps][columns] with the taps of zeros.
std::vector<float> in_our_layout(const Kernel& kernel, const std::vector<float>& numbers) {
  const OnnxNumbers extents = kernel.extents();
  std::int64_t taps = 1;
  std::int64_t own_taps = 1;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    taps *= extents[i];
    own_taps *= kernel.dims[i + 2];
  }
  const std::int64_t columns = kernel.dims[1];
  std::vector<float> ours(
      static_cast<std::size_t>(checked_product(kernel.dims[0] * columns, taps, "a kernel")), 0.F);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(numbers.size()); ++i) {
    std::int64_t rest = i % own_taps;
    std::int64_t tap = 0;
    std::int64_t step = 1;
    for (std::size_t axis = extents.size(); axis-- > 0;) {
      tap += (rest % kernel.dims[axis + 2] + kernel.before[axis]) * step;
      rest /= kernel.dims[axis + 2];
      step *= extents[axis];
    }
    const std::int64_t column = i / own_taps % columns;
    const std::int64_t row = i / own_taps / columns;
    ours[static_cast<std::size_t>((row * taps + tap) * columns + column)] =
        numbers[static_cast<std::size_t>(i)];
  }
  return ours;
}

/// What Conv and ConvTranspose have in common.
struct Convolved {
  FileValue x;
  Kernel kernel;
  const std::vector<float>* numbers = nullptr;
  WindowAttributes window;
  std::int64_t groups = 1;
};

Convolved read_convolution(Importer& importer, const ForeignNode& node) {
  Convolved read;
  read.x = importer.edged_input(node, 0);
  if (!read.x.is_channels_first())
    importer.refuse(node, "reads {}; expected [batch, channels, extents ...] of a grid", read.x.text());
  const std::size_t axes = read.x.extents.size();
  const ForeignTensor* const weight = importer.constant(node, 1);
  if (weight == nullptr || weight->is_integer)
    importer.refuse(node, "has no constant weights; Mylos reads networks whose weights are constants");
  if (weight->dims.size() != axes + 2 || weight->size() == 0)
    fail_input(errors::damaged, "{} has weights of {} axes for {}", describe(importer.graph, node),
               weight->dims.size(), read.x.text());
  read.kernel = {weight->dims, OnnxNumbers(axes, 0), OnnxNumbers(axes, 0)};
  read.numbers = &weight->reals;
  read.window =
      window_attributes(importer, node, axes, OnnxNumbers(weight->dims.begin() + 2, weight->dims.end()));
  read.groups = node.get<std::int64_t>("group", 1);
  if (read.groups < 1 || read.x.channels % read.groups != 0 || weight->dims[0] % read.groups != 0)
    fail_input(errors::damaged, "{} has {} groups of {} channels and {} rows of weights",
               describe(importer.graph, node), read.groups, read.x.channels, weight->dims[0]);
  return read;
}

/// Appends the layer and sets the node's result.
void append(Importer& importer, const ForeignNode& node, const Convolved& read, kinds::Conv conv,
            std::int64_t outputs, OnnxNumbers extents) {
  conv.kernel = read.kernel.extents();
  conv.stride = read.window.strides;
  conv.dilation = read.window.dilations;
  conv.groups = read.groups;
  conv.bias = node.has_input(2);
  std::vector<float> bias;
  if (conv.bias) bias = importer.numbers(node, 2, {outputs}, "bias");
  const std::size_t position =
      importer.chain.append({.kind = conv, .outputs = outputs}, read.x.position, node.inputs[1]);
  const std::string& name = importer.chain.layer(position).name;
  importer.chain.weights[name + "/weight"] = in_our_layout(read.kernel, *read.numbers);
  if (conv.bias) importer.chain.weights[name + "/bias"] = std::move(bias);
  importer.set(node, channels_first_value(position, std::move(extents), outputs));
}

/// Returns one word for all axes if those that are padded have the same.
Edges edges_of(const AddedPoints& added, const PerAxis& padding) {
  std::vector<Padding> padded;
  for (std::size_t axis = 0; axis < padding.size(); ++axis)
    if (added.any() && padding[axis] > 0) padded.push_back(added.kind[axis]);
  if (padded.empty()) return {};
  if (std::equal(padded.begin() + 1, padded.end(), padded.begin())) return padded.front();
  return added.kind;
}

void import_conv(Importer& importer, const ForeignNode& node) {
  Convolved read = read_convolution(importer, node);
  const AddedPoints& edges = read.x.edges;
  WindowAttributes& window = read.window;
  kinds::Conv conv;
  for (std::size_t axis = 0; axis < read.x.extents.size(); ++axis) {
    const bool pads = window.before[axis] > 0 || window.after[axis] > 0;
    const bool pads_again = pads && edges.any(axis) && edges.kind[axis] != Padding::zero;
    if (pads_again || (edges.any() && window.is_same))
      importer.refuse(node, "pads its input, which a Pad did before; Mylos pads once");
  }
  set_same_padding(window, read.x.extents);
  OnnxNumbers extents;
  for (std::size_t axis = 0; axis < read.x.extents.size(); ++axis) {
    const std::int64_t before = window.before[axis] + (edges.any() ? edges.before[axis] : 0);
    const std::int64_t after = window.after[axis] + (edges.any() ? edges.after[axis] : 0);
    const std::int64_t difference = std::abs(after - before);
    if (difference % window.dilations[axis] != 0)
      importer.refuse(node,
                      "pads an axis by {} and {} points with a dilation of {}; Mylos pads both ends alike",
                      before, after, window.dilations[axis]);
    (after > before ? read.kernel.before : read.kernel.after)[axis] = difference / window.dilations[axis];
    conv.padding.push_back(std::max(before, after));
    const std::int64_t spanned = (read.kernel.dims[axis + 2] - 1) * window.dilations[axis] + 1;
    const std::int64_t room = read.x.extents[axis] + before + after - spanned;
    if (room < 0)
      importer.refuse(node, "has a kernel that spans {} points, more than its input {} has", spanned,
                      read.x.text());
    extents.push_back(room / window.strides[axis] + 1);
  }
  conv.edges = edges_of(edges, conv.padding);
  if (read.kernel.dims[1] != read.x.channels / read.groups)
    fail_input(errors::damaged, "{} has weights for {} channels per group, and reads {} in {} groups",
               describe(importer.graph, node), read.kernel.dims[1], read.x.text(), read.groups);
  append(importer, node, read, std::move(conv), read.kernel.dims[0], std::move(extents));
}

/// Finds taps of zeros with which Mylos, which pads both ends alike and extends the output to `stride` times
/// the input's points where that is possible, computes this part of the output. Returns the padding.
std::optional<std::int64_t> transposed_padding(Kernel& kernel, const WindowAttributes& window,
                                               std::size_t axis, std::int64_t removed_after) {
  const std::int64_t stride = window.strides[axis];
  const std::int64_t max_taps = window.dilations[axis] == 1 ? 4 : 0;
  for (std::int64_t before = 0; before <= max_taps; ++before) {
    for (std::int64_t after = 0; after <= max_taps; ++after) {
      const std::int64_t padding = window.before[axis] + before;
      const std::int64_t spanned = (kernel.dims[axis + 2] + before + after - 1) * window.dilations[axis] + 1;
      const std::int64_t extension = std::clamp<std::int64_t>(stride + 2 * padding - spanned, 0, stride - 1);
      if (padding - extension != removed_after + after) continue;
      kernel.before[axis] = before;
      kernel.after[axis] = after;
      return padding;
    }
  }
  return std::nullopt;
}

void import_transposed(Importer& importer, const ForeignNode& node) {
  Convolved read = read_convolution(importer, node);
  if (read.x.edges.any())
    importer.refuse(node,
                    "reads the result of a Pad; Mylos pads before convolutions that are not transposed");
  if (node.attributes.contains("output_shape"))
    importer.refuse(node, "has an output_shape; export it with pads and output_padding");
  const std::size_t axes = read.x.extents.size();
  const OnnxNumbers more = node.get<OnnxNumbers>("output_padding", OnnxNumbers(axes, 0));
  if (more.size() != axes)
    fail_input(errors::damaged, "{} has {} output_padding", describe(importer.graph, node), more.size());
  kinds::Conv conv{.transposed = true};
  OnnxNumbers extents;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t spanned = (read.kernel.dims[axis + 2] - 1) * read.window.dilations[axis] + 1;
    if (read.window.is_same) {
      const std::int64_t total = std::max<std::int64_t>(0, spanned + more[axis] - read.window.strides[axis]);
      read.window.before[axis] = read.window.is_same_lower ? total - total / 2 : total / 2;
      read.window.after[axis] = total - read.window.before[axis];
    }
    const std::int64_t extent = (read.x.extents[axis] - 1) * read.window.strides[axis] + spanned +
                                more[axis] - read.window.before[axis] - read.window.after[axis];
    const auto padding =
        transposed_padding(read.kernel, read.window, axis, read.window.after[axis] - more[axis]);
    if (!padding || more[axis] < 0 || more[axis] > max_kernel || extent < 1)
      importer.refuse(node, "makes {} points of {} with a stride of {}; Mylos gives stride times the points",
                      extent, read.x.extents[axis], read.window.strides[axis]);
    conv.padding.push_back(*padding);
    extents.push_back(extent);
  }
  if (read.kernel.dims[0] != read.x.channels)
    fail_input(errors::damaged, "{} has weights for {} channels, and reads {}",
               describe(importer.graph, node), read.kernel.dims[0], read.x.text());
  append(importer, node, read, std::move(conv), read.kernel.dims[1] * read.groups, std::move(extents));
}

}  // namespace

const ImportTable& convolution_operators() {
  static const ImportTable table{{"Conv", import_conv}, {"ConvTranspose", import_transposed}};
  return table;
}

}  // namespace mylos
