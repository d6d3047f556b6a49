#include "mylos/interchange/weight_forms.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/inference/stored/network_state.hpp"
#include "mylos/kernels/spectral/spectral.hpp"
#include "mylos/model/parameters/channels_first.hpp"

namespace mylos {
namespace {

constexpr std::size_t max_axes = 4;

TensorShape without_ones(const TensorShape& shape, std::size_t kept) {
  TensorShape result;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis < kept || shape[axis] != 1) result.push_back(shape[axis]);
  }
  return result;
}

void add_matrix_forms(OwnWeight& weight) {
  const std::int64_t outputs = weight.dims[0];
  const std::int64_t inputs = weight.dims[1];
  weight.forms.push_back({FormKind::usual, {outputs, inputs}, true, {}, "as it is"});
  weight.forms.push_back(
      {FormKind::transposed, {inputs, outputs}, false, {{inputs, outputs}, {1, 0}}, "transposed"});
}

void add_dense_on_grid_forms(OwnWeight& weight, const ChannelsFirst& there) {
  const std::int64_t outputs = weight.dims[0];
  const std::int64_t inputs = weight.dims[1];
  const auto& [dims, points, channels] = there;
  weight.forms.push_back({FormKind::usual,
                          dims,
                          true,
                          {{outputs, channels, points}, {0, 2, 1}},
                          "columns by point, then channel"});
  weight.forms.push_back({FormKind::transposed,
                          {inputs, outputs},
                          false,
                          {{channels, points, outputs}, {2, 1, 0}},
                          "transposed, columns by point, then channel"});
  weight.forms.push_back({FormKind::channels_last, {outputs, inputs}, false, {}, "as it is"});
}

void add_convolution_forms(OwnWeight& weight, const ChannelsFirst& there) {
  if (there.points == 1) return add_matrix_forms(weight);  // one tap: a linear map of the channels
  weight.forms.push_back({FormKind::usual,
                          there.dims,
                          false,
                          {{weight.dims[0], there.channels, there.points}, {0, 2, 1}},
                          "channels last"});
}

void add_spectral_forms(OwnWeight& weight, const SpectralShape& shape, std::size_t axes) {
  const Extents kept = kept_wave_numbers(shape);
  TensorShape theirs{shape.input.channels, shape.outputs};
  for (std::size_t axis = kept.size() - axes; axis < kept.size(); ++axis) theirs.push_back(kept[axis]);
  theirs.push_back(2);  // as the reader gives complex numbers, too
  weight.forms.push_back({FormKind::usual,
                          theirs,
                          false,
                          {{shape.input.channels, shape.outputs, mode_count(shape), 2}, {2, 0, 3, 1}},
                          "complex, modes first",
                          true});
}

void add_forms(OwnWeight& weight, const Block* block, const ChannelsFirst* there, std::size_t axes) {
  if (weight.dims.size() == 1) {
    weight.forms.push_back({FormKind::usual, without_ones(weight.dims, 0), true, {}, "as it is"});
    return;
  }
  const SpectralConvolution* spectral = block == nullptr ? nullptr : block->spectral();
  if (spectral != nullptr) return add_spectral_forms(weight, spectral->shape(), axes);
  if (weight.name() == "weight" && !weight.path.ends_with("weight")) {  // the table of an embedding
    weight.forms.push_back({FormKind::usual, weight.dims, false, {}, "as it is"});
    return;
  }
  if (there == nullptr) return add_matrix_forms(weight);
  if (block != nullptr && block->signature().kind == "conv") return add_convolution_forms(weight, *there);
  add_dense_on_grid_forms(weight, *there);
}

constexpr std::array short_names{"weight", "bias", "running_mean", "running_variance"};

/// The end of "norm_weight" that is a name in itself; the whole name of others.
std::string_view own_end(std::string_view name) {
  for (const std::string_view end : {"weight", "bias"}) {
    if (name.size() > end.size() && name.ends_with(end) && name[name.size() - end.size() - 1] == '_')
      return end;
  }
  return name;
}

std::string_view after_slash(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_short(std::string_view name) {
  return std::find(short_names.begin(), short_names.end(), name) != short_names.end();
}

}  // namespace

std::int64_t OwnWeight::size() const {
  std::int64_t elements = 1;
  for (const std::int64_t extent : dims) elements *= extent;
  return elements;
}

std::string OwnWeight::layer() const {
  const std::string_view name = after_slash(path);
  if (is_short(name)) return path.substr(0, path.size() - name.size() - 1);
  const std::string_view end = own_end(name);
  return end == name ? path : path.substr(0, path.size() - end.size() - 1);
}

std::string OwnWeight::name() const {
  const std::string_view end = own_end(after_slash(path));
  return is_short(end) ? std::string(end) : "weight";  // an embedding's table has a name of its own
}

std::vector<OwnWeight> own_weights(const ModelOptions& model, const Chain& chain) {
  const std::map<std::string, ChannelsFirst> on_grids = channels_first_parameters(model, chain);
  const std::size_t axes = model.shape.empty() ? 0 : model.shape.size() - 1;
  std::vector<OwnWeight> weights;
  for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
    const Block* block = stage < chain.blocks.size() ? chain.blocks[stage].get() : nullptr;
    for (const ParameterSpec& spec : chain.stage_parameters(stage)) {
      OwnWeight weight{chain.stage_name(stage) + "/" + spec.name, stored_dims(spec), spec.type};
      const auto there = on_grids.find(weight.path);
      add_forms(weight, block, there == on_grids.end() ? nullptr : &there->second, axes);
      weights.push_back(std::move(weight));
    }
    if (block == nullptr) continue;
    for (const BufferSpec& spec : block->buffers()) {
      if (spec.role != BufferRole::state) continue;
      OwnWeight weight{chain.stage_name(stage) + "/" + spec.name, {spec.size}, DType::fp32, true};
      add_forms(weight, block, nullptr, axes);
      weights.push_back(std::move(weight));
    }
  }
  return weights;
}

bool has_form(const TensorShape& shape, const WeightForm& form) {
  if (!form.ignores_ones) return shape == form.shape;
  const std::size_t kept = form.shape.size() == 2 ? 2 : 0;
  return without_ones(shape, kept) == form.shape;
}

const WeightForm* form_of(const OwnWeight& weight, const TensorShape& shape, FormKind kind,
                          bool may_transpose) {
  for (const WeightForm& form : weight.forms) {
    if (form.kind == kind && has_form(shape, form)) return &form;
  }
  if (!may_transpose || kind != FormKind::usual) return nullptr;
  return form_of(weight, shape, FormKind::transposed);
}

std::vector<float> in_our_order(const AxesOrder& axes, std::vector<float> values) {
  if (axes.order.empty()) return values;
  const std::size_t count = axes.order.size();
  if (count > max_axes) fail_run(errors::internal, "{} axes are too many to be put into order", count);
  std::array<std::int64_t, max_axes> extent{1, 1, 1, 1};  // of the result, its last axis last
  std::array<std::int64_t, max_axes> step{};              // between its elements in `values`
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = axes.order[i];
    const std::size_t to = max_axes - count + i;
    extent[to] = axes.view[from];
    step[to] = 1;
    for (std::size_t inner = from + 1; inner < count; ++inner) step[to] *= axes.view[inner];
  }
  std::vector<float> result(values.size());
  std::size_t next = 0;
  for (std::int64_t a = 0; a < extent[0]; ++a) {
    for (std::int64_t b = 0; b < extent[1]; ++b) {
      for (std::int64_t c = 0; c < extent[2]; ++c) {
        const std::int64_t row = a * step[0] + b * step[1] + c * step[2];
        for (std::int64_t d = 0; d < extent[3]; ++d)
          result[next++] = values[static_cast<std::size_t>(row + d * step[3])];
      }
    }
  }
  return result;
}

std::string shape_text(const TensorShape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace mylos
