#include "mylos/api/model_values.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "mylos/api/arrays.hpp"
#include "mylos/base/dtype.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/internal.hpp"

namespace mylos::api {
namespace {

std::int32_t type_of(DType type) {
  if (type == DType::fp16) return MYLOS_FP16;
  return type == DType::bf16 ? MYLOS_BF16 : MYLOS_FP32;
}

std::int32_t copy_shape(const std::vector<std::int64_t>& from, std::span<std::int64_t> to) {
  if (from.size() > to.size())
    fail_run(errors::internal, "a sample of {} dimensions; the C interface has {}", from.size(), to.size());
  std::copy(from.begin(), from.end(), to.begin());
  return static_cast<std::int32_t>(from.size());
}

}  // namespace

LoadOptions load_options_of(const mylos_load_options* given) {
  LoadOptions options;
  if (given == nullptr) return options;
  if (given->max_samples < 0)
    fail_input(errors::bad_call, "max_samples is {}; it is 0 (automatic) or more", given->max_samples);
  if (given->threads < 0)
    fail_input(errors::bad_call, "threads is {}; it is 0 (one) or more", given->threads);
  options.average = flag_of(given->average, "average");
  if (given->threads > 0) options.threads = given->threads;
  options.max_samples = given->max_samples;
  return options;
}

Units units_of(std::int32_t units, const char* call) {
  if (units == MYLOS_DATA_UNITS) return Units::data;
  if (units == MYLOS_NETWORK_UNITS) return Units::network;
  fail_input(errors::bad_call, "{}: {} is no mylos_units", call, units);
}

mylos_bytes bytes_of(const InferenceBytes& bytes) {
  return {static_cast<std::int64_t>(bytes.weights), static_cast<std::int64_t>(bytes.statistics),
          static_cast<std::int64_t>(bytes.workspace)};
}

mylos_model_info info_of(const Model& model) {
  mylos_model_info info{};
  info.inputs = model.inputs();
  info.outputs = model.outputs();
  info.input_rank = copy_shape(model.input_shape(), info.input_shape);
  info.output_rank = copy_shape(model.output_shape(), info.output_shape);
  info.step = model.step();
  info.samples_per_piece = model.samples_per_piece();
  info.input_names = static_cast<std::int64_t>(model.input_names().size());
  info.target_names = static_cast<std::int64_t>(model.target_names().size());
  info.class_names = static_cast<std::int64_t>(model.class_names().size());
  info.type = model.in_double() ? MYLOS_FP64 : type_of(model.type());
  info.bytes = bytes_of(model.bytes());
  return info;
}

}  // namespace mylos::api
