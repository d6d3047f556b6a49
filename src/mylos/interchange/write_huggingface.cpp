#include <fmt/format.h>

#include <filesystem>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/file_text.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/interchange/gpt2_config.hpp"
#include "mylos/interchange/gpt2_names.hpp"
#include "mylos/interchange/huggingface_gpt2.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/io/safetensors/safetensors.hpp"
#include "mylos/model/block/transpose.hpp"

namespace mylos {
namespace {

void require_expressible(const ModelOptions& model) {
  const char* deviation = nullptr;
  if (model.norm == NormType::rmsnorm) deviation = "model.norm = \"rmsnorm\"";
  if (model.positions == PositionType::rotary) deviation = "model.positions = \"rotary\"";
  if (model.feed_forward == FeedForwardType::swiglu) deviation = "model.feed_forward = \"swiglu\"";
  if (deviation != nullptr)
    fail_input(
        errors::arguments_conflict,
        "a network with {} is not a GPT-2 and cannot be written as one; --names own writes its own names",
        deviation);
}

/// A tensor of the file and the parameter that fills it.
struct Export {
  TensorName name;
  safetensors::NamedShape shape;
};

std::vector<Export> exports_of(const GptWeights& weights) {
  ModelOptions model = weights.model;
  model.bias = true;
  model.vocabulary = weights.vocabulary;
  std::map<std::string, ParameterSpec> specs;
  for (const GptParameter& parameter : gpt_parameters(model)) specs[parameter.path] = parameter.spec;
  std::vector<Export> exports;
  for (TensorName& name : gpt2_names(model)) {
    const ParameterSpec& spec = specs.at(name.parameter);
    std::vector<std::int64_t> shape{spec.columns};
    if (spec.is_matrix) shape = {spec.rows, spec.columns};
    if (name.transposed) std::swap(shape[0], shape[1]);
    const std::string full = name.tensor == gpt2_head ? name.tensor : gpt2_prefix + name.tensor;
    exports.push_back({std::move(name), {full, std::move(shape)}});
  }
  return exports;
}

/// Returns the values in the file's layout: without vocabulary padding, transposed; zeros if the parameter
/// does not exist.
std::vector<float> values_of(const GptWeights& weights, const Export& tensor) {
  const std::vector<std::int64_t>& shape = tensor.shape.shape;
  std::size_t size = 1;
  for (const std::int64_t extent : shape) size *= static_cast<std::size_t>(extent);
  const auto found = weights.parameters.find(tensor.name.parameter);
  if (found == weights.parameters.end()) return std::vector<float>(size);
  if (tensor.name.transposed) return transpose(found->second, shape[1], shape[0]);
  return {found->second.begin(), found->second.begin() + static_cast<std::ptrdiff_t>(size)};
}

/// Throws Error if the file exists with other contents.
void require_no_other(const std::string& path, const std::string& text) {
  std::error_code failure;
  if (!std::filesystem::exists(path, failure) || file_text(path, text.size() + 1) == text) return;
  fail_input(errors::already_exists, "{}: exists and describes another network; write to another folder",
             path);
}

}  // namespace

ConversionSafety huggingface_safety(const GptWeights& weights) {
  require_expressible(weights.model);
  ConversionSafety sum;
  for (const Export& tensor : exports_of(weights))
    sum += conversion_safety(std::span<const float>(values_of(weights, tensor)));
  return sum;
}

void write_huggingface(const GptWeights& weights, const std::string& path, DType type) {
  require_expressible(weights.model);
  const std::string config_path = gpt2_config_path(path);
  const std::string config = gpt2_config_text(weights.model, weights.vocabulary);
  require_no_other(config_path, config);
  const std::vector<Export> exports = exports_of(weights);
  std::vector<safetensors::NamedShape> shapes;
  for (const Export& tensor : exports) shapes.push_back(tensor.shape);

  // Readers require the name of the framework; the layout is the same in all.
  safetensors::Writer writer(path, type, std::move(shapes), {{"format", "pt"}});
  for (const Export& tensor : exports) writer.write(values_of(weights, tensor));
  PendingFile pending_config(config_path);
  pending_config.file().append(config);
  writer.close();
  pending_config.publish();
}

}  // namespace mylos
