// deck_batches DECK OUT BATCHES [section.key=value ...]: what a run of the deck reads, as this rank gets it.
//
// Rank r writes OUT.train.r, its first BATCHES training batches, and OUT.validation.r and OUT.test.r, its
// share of a pass over these parts, if the deck has them. A record is five int64 (step, first sample,
// samples, features, outputs), then the inputs and the targets, both float. Rank 0 writes OUT.normalizer, the
// shifts and scales of inputs and targets as text, and prints the sizes. Labels are not written.
#include <fmt/format.h>
#include <mpi.h>

#include <Kokkos_Core.hpp>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "mylos/config/deck.hpp"
#include "mylos/data/arrays/array_store.hpp"
#include "mylos/data/run/run_data.hpp"

namespace {

using namespace mylos;

struct Sizes {
  std::int64_t features;
  std::int64_t outputs;
};

void write_record(std::ofstream& file, const Batch& batch, Sizes sizes) {
  const std::array<std::int64_t, 5> head{batch.step, batch.first_sample, batch.samples, sizes.features,
                                         sizes.outputs};
  const auto write = [&file](const void* bytes, std::size_t count) {
    file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
  };
  const auto floats = [&batch](std::int64_t columns) {
    return static_cast<std::size_t>(batch.samples * columns) * sizeof(float);
  };
  write(head.data(), sizeof head);
  write(batch.inputs, floats(sizes.features));
  if (batch.targets != nullptr) write(batch.targets, floats(sizes.outputs));
}

void write_normalizer(const std::string& path, const Normalizer& normalizer) {
  std::ofstream file(path);
  const auto& [inputs, targets, range] = normalizer;
  for (const std::vector<double>* numbers : {&inputs.shift, &inputs.scale, &targets.shift, &targets.scale}) {
    for (const double number : *numbers) file << fmt::format("{} ", number);
    file << '\n';
  }
}

void run(int count, char** arguments) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::string out = arguments[2];
  const Deck deck = read_deck(read_deck_file(arguments[1]), arguments[1],
                              std::vector<std::string>(arguments + 4, arguments + count));
  Options options = deck.options;
  const std::unique_ptr<RunData> data = open_run_data(options, GroundTruth::required, deck.places);
  data->complete(options.model);
  const Normalizer normalizer = data->normalizer({});
  const Sizes sizes{options.model.inputs, options.model.outputs};  // of one step
  Sizes all_steps = sizes;
  if (const std::int64_t steps = options.rollout.steps; steps > 1) {
    const auto windows = open_array_store(options.data.train.names, options.data.arrays, steps);
    all_steps = {windows->features(), windows->outputs()};
  }
  const auto path = [&](const char* part) { return fmt::format("{}.{}.{}", out, part, rank); };

  int batches = 0;
  std::from_chars(arguments[3], arguments[3] + std::strlen(arguments[3]), batches);
  const TrainingReader reading{.micro_batch = options.data.micro_batch, .rank = rank, .ranks = ranks};
  {
    std::ofstream file(path("train"), std::ios::binary);
    const std::unique_ptr<BatchReader> reader = data->training_batches(normalizer, reading);
    for (int batch = 0; batch < batches; ++batch) write_record(file, reader->next(), all_steps);
  }
  for (const DataPart part : held_out_parts) {
    if (!data->has(part)) continue;
    std::ofstream file(path(name_of(part)), std::ios::binary);
    const EvaluationOptions pass{.max_samples = 5, .rank = rank, .ranks = ranks};
    const std::unique_ptr<EvaluationPass> samples = data->pass_over(part, normalizer, pass);
    while (const Batch* batch = samples->next()) write_record(file, *batch, sizes);
  }
  if (rank != 0) return;
  write_normalizer(out + ".normalizer", normalizer);
  fmt::print("samples {}\nfeatures {}\noutputs {}\ngrid", data->samples(DataPart::train), sizes.features,
             sizes.outputs);
  for (const std::int64_t extent : options.model.shape) fmt::print(" {}", extent);
  fmt::print("\n");
}

}  // namespace

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  int result = 0;
  try {
    const Kokkos::ScopeGuard guard(argument_count, arguments);
    if (argument_count < 4) throw std::runtime_error("usage: deck_batches DECK OUT BATCHES [key=value ...]");
    run(argument_count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "deck_batches: %s\n", error.what());
    const auto* refusal = dynamic_cast<const Error*>(&error);
    result = refusal != nullptr ? static_cast<int>(refusal->code()) : 1;
  }
  MPI_Finalize();
  return result;
}
