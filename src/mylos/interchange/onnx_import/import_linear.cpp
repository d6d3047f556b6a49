// Gemm and MatMul: dense layers of vectors, and convolutions of one tap on grids. Add, Sub, Mul and Div of
// constants: biases, weights of norms, and the scaling at both ends of a network.
#include <algorithm>

#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/interchange/onnx_import/importer.hpp"
#include "mylos/interchange/weight_forms.hpp"

namespace mylos {
namespace {

/// A matrix of a file, [outputs, inputs], or transposed.
struct Matrix {
  const std::vector<float>* numbers = nullptr;
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  bool is_transposed = false;
};

Matrix matrix_of(const Importer& importer, const ForeignNode& node, bool has_outputs_first) {
  const ForeignTensor* const constant = importer.constant(node, 1);
  if (constant == nullptr)
    importer.refuse(
        node, "multiplies two computed values, as attention does; Mylos reads it with a constant matrix");
  if (constant->dims.size() != 2 || constant->is_integer)
    importer.refuse(node, "has a constant of {} axes; Mylos reads matrices", constant->dims.size());
  const OnnxNumbers& dims = constant->dims;
  Matrix matrix{&constant->reals, dims[1], dims[0], true};
  if (has_outputs_first) matrix = {&constant->reals, dims[0], dims[1], false};
  return matrix;
}

/// Returns [outputs][columns of ours] of a matrix whose columns are in the order of the value that it reads.
std::vector<float> permuted_columns(const Matrix& matrix, const FileValue& x) {
  std::vector<float> weight = *matrix.numbers;
  if (matrix.is_transposed)
    weight = in_our_order({{matrix.inputs, matrix.outputs}, {1, 0}}, std::move(weight));
  if (x.has_our_order()) return weight;
  const std::vector<std::size_t> columns = columns_in_file_order(x);
  std::vector<float> ours(weight.size());
  for (std::size_t i = 0; i < weight.size(); ++i)
    ours[i / columns.size() * columns.size() + columns[i % columns.size()]] = weight[i];
  return ours;
}

void require_sizes(const Importer& importer, const ForeignNode& node, const Matrix& matrix,
                   std::int64_t inputs, const FileValue& x) {
  if (matrix.inputs != inputs || matrix.outputs < 1)
    fail_input(errors::damaged, "{} multiplies {} by a matrix of {} inputs and {} outputs",
               describe(importer.graph, node), x.text(), matrix.inputs, matrix.outputs);
}

/// W (scale x + shift) + b as a matrix of x, [outputs][columns], and a bias.
void take_up(const Affine& affine, std::size_t columns, std::vector<float>& weight,
             std::vector<float>& bias) {
  const std::size_t outputs = weight.size() / columns;
  bias.resize(outputs, 0.F);
  for (std::size_t output = 0; output < outputs; ++output) {
    double sum = static_cast<double>(bias[output]);
    for (std::size_t column = 0; column < columns; ++column) {
      float& number = weight[output * columns + column];
      const std::size_t of = column % affine.scale.size();
      sum += static_cast<double>(number) * affine.shift[of];
      number = static_cast<float>(static_cast<double>(number) * affine.scale[of]);
    }
    bias[output] = static_cast<float>(sum);
  }
}

void append_linear(Importer& importer, const ForeignNode& node, const Matrix& matrix, const FileValue& x,
                   std::vector<float> bias) {
  ImportedChain& chain = importer.chain;
  LayerOptions layer{.outputs = matrix.outputs};
  FileValue y;
  std::vector<float> weight;
  const bool is_row = x.shape.size() == 1;  // a vector, or a flattened grid
  if (!is_row) {
    if (!x.is_channels_last() || x.extents.empty())
      importer.refuse(
          node,
          "multiplies the last axis of {}, which is not that of the channels; flatten it first, or "
          "transpose it so that the channels are last",
          x.text());
    require_sizes(importer, node, matrix, x.channels, x);
    if (static_cast<std::int64_t>(x.affine.scale.size()) > x.channels)
      importer.refuse(node, "reads {} multiplied by constants that differ by point", x.text());
    weight =
        in_our_order(matrix.is_transposed ? AxesOrder{{matrix.inputs, matrix.outputs}, {1, 0}} : AxesOrder{},
                     *matrix.numbers);
    y = channels_last_value(0, x.extents, matrix.outputs);
    if (!x.affine.identity()) take_up(x.affine, static_cast<std::size_t>(x.channels), weight, bias);
    layer.kind = kinds::Conv{.bias = !bias.empty()};
  } else {
    require_sizes(importer, node, matrix, x.columns(), x);
    weight = permuted_columns(matrix, x);
    y = channels_last_value(0, {}, matrix.outputs);
    if (!x.affine.identity()) take_up(x.affine, static_cast<std::size_t>(x.columns()), weight, bias);
  }
  y.position = chain.append(layer, x.position, node.has_input(1) ? node.inputs[1] : node.name);
  const std::string& name = chain.layer(y.position).name;
  chain.weights[name + "/weight"] = std::move(weight);
  if (is_row && bias.empty()) bias.resize(static_cast<std::size_t>(matrix.outputs), 0.F);
  if (!bias.empty()) chain.weights[name + "/bias"] = std::move(bias);
  importer.set(node, std::move(y));
}

void import_gemm(Importer& importer, const ForeignNode& node) {
  if (node.get<std::int64_t>("transA", 0) != 0)
    importer.refuse(node, "transposes its input; export it with transA = 0");
  const FileValue x = importer.matrix_input(node, 0);
  const Matrix matrix = matrix_of(importer, node, node.get<std::int64_t>("transB", 0) != 0);
  const float alpha = node.get<float>("alpha", 1);
  const float beta = node.get<float>("beta", 1);
  std::vector<float> bias;
  if (node.has_input(2)) {
    const ForeignTensor* const given = importer.constant(node, 2);
    if (given == nullptr || given->is_integer)
      importer.refuse(node, "adds a computed value; its C must be constant");
    const auto numbers = in_our_columns(channels_last_value(0, {}, matrix.outputs), *given);
    if (!numbers) importer.refuse(node, "adds a C that does not fit its {} outputs", matrix.outputs);
    for (const double value : *numbers) bias.push_back(static_cast<float>(value) * beta);
  }
  if (alpha == 1) return append_linear(importer, node, matrix, x, std::move(bias));
  std::vector<float> scaled = *matrix.numbers;
  for (float& value : scaled) value *= alpha;
  Matrix of_scaled = matrix;
  of_scaled.numbers = &scaled;
  append_linear(importer, node, of_scaled, x, std::move(bias));
}

void import_matmul(Importer& importer, const ForeignNode& node) {
  const FileValue x = importer.matrix_input(node, 0);
  append_linear(importer, node, matrix_of(importer, node, false), x, {});
}

/// scikit-learn's linear models: coefficients [targets, inputs].
void import_linear_regressor(Importer& importer, const ForeignNode& node) {
  const FileValue x = importer.matrix_input(node, 0);
  const auto coefficients = node.get<std::vector<float>>("coefficients", {});
  const auto targets = node.get<std::int64_t>("targets", 1);
  const auto bias = node.get<std::vector<float>>("intercepts", {});
  if (node.get<std::string>("post_transform", "NONE") != "NONE")
    importer.refuse(node, "of {} transforms its results", x.text());
  const auto count = static_cast<std::int64_t>(coefficients.size());
  const bool fits = x.shape.size() == 1 && targets > 0 && targets <= count && count % targets == 0 &&
                    (bias.empty() || static_cast<std::int64_t>(bias.size()) == targets);
  if (!fits)
    fail_input(errors::damaged, "{} has {} coefficients and {} intercepts for {} targets of {}",
               describe(importer.graph, node), count, bias.size(), targets, x.text());
  append_linear(importer, node, {&coefficients, targets, count / targets, false}, x, bias);
}

/// Adds to the affine map of a value what one node does.
void apply(Affine& affine, const std::string& op, std::vector<double> numbers, bool is_reversed) {
  if (affine.identity())
    affine = {std::vector<double>(numbers.size(), 1), std::vector<double>(numbers.size(), 0)};
  if (const auto columns = static_cast<std::int64_t>(std::max(numbers.size(), affine.scale.size()));
      numbers.size() != affine.scale.size()) {
    numbers = by_column(numbers, columns);
    affine = {by_column(affine.scale, columns), by_column(affine.shift, columns)};
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    double& scale = affine.scale[i];
    double& shift = affine.shift[i];
    const double number = numbers[i];
    if (op == "Mul" || op == "Div") {
      scale = op == "Mul" ? scale * number : scale / number;
      shift = op == "Mul" ? shift * number : shift / number;
      continue;
    }
    const double sign = op == "Sub" ? -1 : 1;
    if (is_reversed) {
      scale *= sign;
      shift = number + sign * shift;
    } else {
      shift += sign * number;
    }
  }
}

/// Makes a first addition the bias of the layer before it, and any map of a norm's output its weights.
void fold_now(Importer& importer, FileValue& value) {
  if (value.position == 0 || !value.is_sole || value.means_of > 0) return;
  ImportedChain& chain = importer.chain;
  const LayerOptions& layer = chain.layer(value.position);
  const auto scale = by_channel(value.affine.scale, value.channels);
  const auto shift = by_channel(value.affine.shift, value.channels);
  if (!scale || !shift) return;
  const bool adds_only = std::all_of(scale->begin(), scale->end(), [](double each) { return each == 1; });
  const auto bias = chain.weights.find(layer.name + "/bias");
  const bool lacks_bias = bias == chain.weights.end() || std::all_of(bias->second.begin(), bias->second.end(),
                                                                     [](float each) { return each == 0; });
  if (layer.norm == NormType::none && !(adds_only && lacks_bias)) return;
  if (fold(chain, value.position, *scale, *shift)) value.affine = {};
}

/// scikit-learn's scalers: (x - offset) scale, with one number or one per column.
void import_scaler(Importer& importer, const ForeignNode& node) {
  FileValue value = importer.value(node, 0);
  for (const auto& [attribute, op] : {std::pair("offset", "Sub"), std::pair("scale", "Mul")}) {
    auto numbers = node.get<std::vector<float>>(attribute, {op == std::string_view("Sub") ? 0.F : 1.F});
    OnnxNumbers dims{static_cast<std::int64_t>(numbers.size())};
    const auto columns = in_our_columns(value, {.dims = std::move(dims), .reals = std::move(numbers)});
    if (!columns)
      fail_input(errors::damaged, "{} has an {} that does not fit {}", describe(importer.graph, node),
                 attribute, value.text());
    apply(value.affine, op, *columns, false);
  }
  importer.set(node, std::move(value));
}

void import_elementwise(Importer& importer, const ForeignNode& node) {
  if (import_affine(importer, node)) return;
  importer.refuse(node,
                  "of two computed values is not supported; Mylos adds the outputs of layers, and multiplies "
                  "only in SiLU, x Sigmoid(x)");
}

}  // namespace

bool import_affine(Importer& importer, const ForeignNode& node) {
  if (node.inputs.size() != 2) return false;
  const std::size_t of_constant = importer.constant(node, 1) != nullptr ? 1 : 0;
  const ForeignTensor* const constant = importer.constant(node, of_constant);
  if (constant == nullptr) return false;
  const bool is_reversed = of_constant == 0;
  if (node.op == "Div" && is_reversed) importer.refuse(node, "divides a constant by the output of a layer");
  FileValue value = importer.value(node, 1 - of_constant);
  const auto numbers = in_our_columns(value, *constant);
  if (!numbers)
    importer.refuse(node,
                    "combines {} with a constant of another shape; Mylos has one number per channel, or per "
                    "number of a sample",
                    value.text());
  apply(value.affine, node.op, *numbers, is_reversed);
  fold_now(importer, value);
  importer.set(node, std::move(value));
  return true;
}

const ImportTable& linear_operators() {
  static const ImportTable table{{"Gemm", import_gemm},
                                 {"MatMul", import_matmul},
                                 {"ai.onnx.ml.LinearRegressor", import_linear_regressor},
                                 {"ai.onnx.ml.Scaler", import_scaler},
                                 {"Sub", import_elementwise},
                                 {"Mul", import_elementwise},
                                 {"Div", import_elementwise}};
  return table;
}

}  // namespace mylos
