#include "mylos/train/online/view_batch.hpp"

#include "mylos/base/errors/calls.hpp"
#include "mylos/kernels/convert.hpp"

namespace mylos {
namespace {

// The alignment of a Kokkos::View's data. With a smaller alignment, GEMM engines would choose other kernels
// than in training from files.
constexpr std::size_t view_alignment = 64;

std::int64_t extent(std::size_t count) {
  return static_cast<std::int64_t>(count);
}

}  // namespace

ViewBatch::ViewBatch(const Chain& chain, const ModelOptions& model, std::int64_t max_samples,
                     std::uint64_t first_sample)
    : features_(chain.inputs()),
      outputs_(chain.outputs()),
      whole_features_(model.inputs),
      whole_outputs_(model.outputs),
      prediction_(chain.prediction()),
      type_(chain.input_type()),
      needs_(sample_needs(chain)),
      max_samples_(max_samples),
      first_sample_(first_sample),
      copies_("cast inputs",
              aligned_bytes(static_cast<std::size_t>(max_samples * chain.inputs()) * size_of(type_))) {}

void ViewBatch::set(const SampleRows<const float>& inputs, const SampleRows<const float>& targets) {
  inputs_ = inputs;
  targets_ = targets;
  has_labels_ = false;
}

void ViewBatch::set(const SampleRows<const float>& inputs, const SampleValues<const std::int32_t>& labels) {
  inputs_ = inputs;
  labels_ = labels;
  has_labels_ = true;
}

void ViewBatch::clear() {
  inputs_ = {};
  targets_ = {};
  labels_ = {};
}

void ViewBatch::require_rows(const SampleRows<const float>& view, std::int64_t columns, const char* name,
                             const char* key, std::int64_t whole) {
  if (view.extent(0) == 0) return;
  if (extent(view.extent(1)) != columns) {
    if (columns != whole) {
      fail_input(
          errors::bad_call,
          "{} of [{}, {}] values, but a rank's box of a sample (mesh.space) has {} of the {} of model.{}",
          name, view.extent(0), view.extent(1), columns, whole, key);
    }
    fail_input(errors::bad_call, "{} of [{}, {}] values, but model.{} is {}", name, view.extent(0),
               view.extent(1), key, columns);
  }
  if (!view.span_is_contiguous()) {
    fail_input(errors::bad_call, "{}: the rows are not contiguous in memory; give a contiguous view", name);
  }
}

ConstTensor ViewBatch::inputs_of(const Execution& exec, const SampleRows<const float>& inputs,
                                 std::int64_t first, std::int64_t count) const {
  const ConstTensor all(inputs.data(), DType::fp32, extent(inputs.extent(0)), features_);
  const ConstTensor rows = all.row_range(first, count);
  const bool aligned = reinterpret_cast<std::uintptr_t>(rows.data()) % view_alignment == 0;
  if (type_ == DType::fp32 && aligned) return rows;
  const Tensor copy = copies_.tensor(0, type_, count, features_);
  convert(exec, rows, copy);
  return copy;
}

void ViewBatch::require() const {
  const std::int64_t samples = this->samples();
  const std::size_t truth = has_labels_ ? labels_.extent(0) : targets_.extent(0);
  if (has_labels_ != (prediction_ == Prediction::classes)) {
    fail_input(errors::bad_call, "a step with {}, which model.loss = \"{}\" cannot learn",
               has_labels_ ? "labels" : "targets", has_labels_ ? "mse" : "cross_entropy");
  }
  if (extent(truth) != samples) {
    fail_input(errors::bad_call, "a step with {} rows of inputs and {} of {}", samples, truth,
               has_labels_ ? "labels" : "targets");
  }
  if (samples > max_samples_) {
    fail_input(errors::bad_call, "a step with {} samples on a rank, more than the {} of data.micro_batch",
               samples, max_samples_);
  }
  require_rows(inputs_, features_, "inputs", "inputs", whole_features_);
  if (has_labels_ && samples > 1 && !labels_.span_is_contiguous())
    fail_input(errors::bad_call, "labels: the view is not contiguous; give a contiguous view");
  if (!has_labels_) require_rows(targets_, outputs_, "targets", "outputs", whole_outputs_);
  if (samples > 0 && samples < needs_.own) throw too_few_own_samples(needs_, samples);
}

MicroBatch ViewBatch::next(const Execution& exec) {
  require();
  const std::int64_t samples = this->samples();
  MicroBatch batch;
  if (samples == 0) return batch;
  batch.inputs = inputs_of(exec, inputs_, 0, samples);
  batch.first_sample = first_sample_;
  if (has_labels_) {
    batch.truth.labels = labels_.data();
  } else {
    batch.truth.targets = targets_.data();
  }
  return batch;
}

}  // namespace mylos
