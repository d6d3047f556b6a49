// mylos predict CKPT IN OUT: /outputs [samples, outputs], targets in their own units; a classifier's are
// probabilities.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "commands.hpp"
#include "mylos/comm/collective_error.hpp"
#include "mylos/io/atomic_publish.hpp"
#include "mylos/io/hdf5.hpp"
#include "trained_model.hpp"

namespace mylos::app {
namespace {

void softmax(std::span<float> row) {
  const float largest = *std::max_element(row.begin(), row.end());
  float sum = 0;
  for (float& value : row) sum += value = std::exp(value - largest);
  for (float& value : row) value /= sum;
}

void write_outputs(const TrainedModel& trained, const std::string& path) {
  const std::int64_t samples = trained.data->samples(DataPart::train);
  const std::int64_t outputs = trained.model->chain().outputs();
  const bool classifies = trained.model->chain().loss() == LossType::cross_entropy;
  hdf5::File file = hdf5::File::create(path);
  hdf5::Dataset result = file.create_dataset("/outputs", hdf5::ElementType::float32, {samples, outputs});
  file.write_attribute("/outputs", "meaning",
                       classifies ? "probability of each class" : "targets in their own units");
  file.write_attribute("/", "checkpoint", trained.path);
  const auto pass = trained.pass_over(DataPart::train);
  predict(trained.context(), *pass, [&](const Batch& batch, std::span<float> values) {
    if (classifies) {
      const auto width = static_cast<std::size_t>(outputs);
      for (std::size_t row = 0; row < values.size(); row += width) softmax(values.subspan(row, width));
    } else {
      trained.normalizer.undo_targets(values);
    }
    result.write(batch.first_sample * outputs, batch.samples * outputs, values.data());
  });
  file.close();
}

}  // namespace

ExitCode predict_command(const PredictArguments& arguments) {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > 1) fail_input("mylos predict runs on one rank; start it without mpirun");
  const auto trained = open_trained_model(
      arguments.checkpoint, [&](DataOptions& data) { choose_whole_file(data, arguments.input); });
  if (trained->vocabulary) {
    fail_input("{} is a network of tokens; `mylos sample` lets it write, `mylos eval` judges it",
               trained->path);
  }
  for (const auto& input : {arguments.input, trained->path}) require_other_file(input, arguments.output);
  PendingFile file(arguments.output);
  write_outputs(*trained, file.temporary());
  file.publish();
  const std::int64_t samples = trained->data->samples(DataPart::train);
  standard_output(0).line(fmt::format("{}: outputs of {} samples, [{}, {}]", arguments.output, samples,
                                      samples, trained->model->chain().outputs()));
  return ExitCode::done;
}

}  // namespace mylos::app
