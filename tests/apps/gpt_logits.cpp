// gpt_logits CHECKPOINT TOKENS OUT: the logits of a GPT in float, whatever type its deck says.
//
// TOKENS: int32, whole samples of the model's context. OUT: float [tokens, vocabulary].
#include <mpi.h>

#include <Kokkos_Core.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/network/gpt.hpp"
#include "mylos/model/network/training_model.hpp"
#include "mylos/train/start/run_state.hpp"
#include "support/device_values.hpp"

namespace {

using namespace mylos;

std::vector<std::int32_t> read_tokens(const char* path) {
  std::vector<std::int32_t> tokens(std::filesystem::file_size(path) / sizeof(std::int32_t));
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(tokens.data()),
            static_cast<std::streamsize>(tokens.size() * sizeof(std::int32_t)));
  return tokens;
}

void run(const char* checkpoint, const char* tokens_path, const char* out_path) {
  RankGroup ranks(MPI_COMM_WORLD, 60);
  const CheckpointReader reader(ranks, checkpoint);
  const ModelOptions options = read_stored_deck(reader.header().deck, checkpoint).options.model;
  PrecisionOptions precision;
  precision.compute = DType::fp32;
  const std::vector<std::int32_t> tokens = read_tokens(tokens_path);
  const auto rows = static_cast<std::int64_t>(tokens.size());
  if (options.type != ModelType::gpt) throw std::runtime_error(std::string(checkpoint) + ": is no GPT");
  if (rows == 0 || rows % options.context != 0) {
    throw std::runtime_error(std::string(tokens_path) + ": has " + std::to_string(rows) +
                             " tokens, not whole samples of " + std::to_string(options.context));
  }
  const auto engines = make_engines({});
  TrainingModel model(make_gpt(options, precision, 1, false), *engines, rows / options.context, 1 << 20, 1,
                      Schedule{});
  CheckpointState parameters = parameter_state(model.parameters());
  reader.read(parameters);

  const Execution exec;
  model.parameters().refresh_compute_weights(exec);
  Arena arena("tokens", tokens.size() * sizeof(std::int32_t));
  test::copy_to_device(tokens.data(), arena.data(), arena.bytes());
  const StepContext context{
      .exec = exec, .engines = *engines, .step = nullptr, .first_sample = 0, .training = false};
  model.forward(context, arena.tensor(0, DType::int32, rows, 1));
  const std::vector<float> logits = test::values_of(model.head_outputs(context, 0, rows));
  std::ofstream(out_path, std::ios::binary)
      .write(reinterpret_cast<const char*>(logits.data()),
             static_cast<std::streamsize>(logits.size() * sizeof(float)));
}

}  // namespace

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  int result = 0;
  try {
    const Kokkos::ScopeGuard guard(argument_count, arguments);
    if (argument_count != 4) throw std::runtime_error("usage: gpt_logits CHECKPOINT TOKENS OUT");
    run(arguments[1], arguments[2], arguments[3]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpt_logits: %s\n", error.what());
    result = 1;
  }
  MPI_Finalize();
  return result;
}
