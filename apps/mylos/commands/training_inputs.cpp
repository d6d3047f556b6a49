#include "commands/training_inputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <Kokkos_Core.hpp>

#include <memory>

#include "launch/runtime.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/opened_network.hpp"
#include "mylos/inference/stored/stored_network.hpp"
#include "mylos/inference/uncertainty/measured_inputs.hpp"

namespace mylos::app {
namespace {

void require_vectors(const StoredNetwork& network) {
  if (network.input_shape.size() == 1) return;
  fail_input(
      errors::not_measured,
      "{}: its samples lie on a grid [{}]; distances are of vectors, and the range of each channel is in "
      "every model file",
      network.path, fmt::join(network.input_shape, ", "));
}

void require_same_data(const OpenedNetwork& opened) {
  if (opened.data->identity(DataPart::train) == opened.network.training.identity) return;
  fail_input(
      errors::data_mismatch,
      "{}: is not the file that {} was trained on: its contents differ, so that its inputs say nothing about "
      "the network",
      opened.data->path(), opened.network.path);
}

}  // namespace

InputStatistics measure_training_inputs(const CheckpointReader& checkpoint) {
  std::unique_ptr<KokkosRuntime> kokkos;  // arrays are read into its memory
  if (!Kokkos::is_initialized()) {
    kokkos = std::make_unique<KokkosRuntime>(stored_options(checkpoint).run.threads);
  }
  const StoredNetwork stored = read_stored_network(checkpoint);
  run_on_all(checkpoint.ranks(), [&] { require_vectors(stored); });
  const NetworkData data{.choose =
                             [&](DataOptions& options) {
                               if (options.train.empty())
                                 fail_input(errors::missing_argument,
                                            "{}: its deck names no data.train, whose inputs were to be read",
                                            checkpoint.path());
                               options.test.clear();
                             },
                         .check = [&](const OpenedNetwork& opened) { require_same_data(opened); },
                         .truth = GroundTruth::optional};
  const OpenedNetwork opened = open_network(checkpoint, data);
  const ArrayOptions& arrays = opened.network.options.data.arrays;
  if (arrays.any_may_be_missing(arrays.inputs)) {
    fail_input(
        errors::not_measured,
        "{}: inputs may be missing (data.arrays.missing), and distances of inputs are of complete ones: "
        "their range alone is known",
        checkpoint.path());
  }
  return measure_inputs(checkpoint.ranks(), *opened.data, opened.network.chain.inputs(), opened.data->path());
}

std::string describe_inputs(const InputStatistics& statistics, const std::vector<std::string>& names) {
  std::vector<std::string> constant;
  for (std::size_t i = 0; i < statistics.deviation.size(); ++i) {
    if (statistics.deviation[i] > 0) continue;
    constant.push_back(i < names.size() ? printable(names[i]) : fmt::format("input {}", i));
  }
  constexpr std::size_t max_listed = 10;
  const std::size_t others = constant.size() > max_listed ? constant.size() - max_listed : 0;
  if (others > 0) constant.resize(max_listed);
  return fmt::format(
      "statistics of {} inputs of {} training samples, whose distances are at most {:.6g}, those of 99.9 % "
      "at "
      "most {:.6g}{}{}{}",
      statistics.mean.size(), statistics.samples, statistics.distances[2], statistics.distances[1],
      statistics.ridge > 0 ? "; inputs follow from others: a ridge is added to their correlations" : "",
      constant.empty() ? ""
                       : fmt::format("; constant, and judged by their range: {}", fmt::join(constant, ", ")),
      others > 0 ? fmt::format(" and {} others", others) : "");
}

}  // namespace mylos::app
