#include "mylos/interchange/gpt_weights.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/base/version.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/io/system/system_memory.hpp"
#include "mylos/model/network/gpt.hpp"
#include "mylos/train/start/run_state.hpp"

namespace mylos {
namespace {

/// Returns the parameters' paths in the file and, if `weights` has values, their memory.
CheckpointState state_of(GptWeights& weights) {
  CheckpointState state;
  for (const GptParameter& parameter : gpt_parameters(weights.model)) {
    state.add_host("/model/" + parameter.path, weights.parameters[parameter.path].data(),
                   stored_dims(parameter.spec));
  }
  return state;
}

}  // namespace

std::vector<GptParameter> gpt_parameters(const ModelOptions& model) {
  const Chain chain = make_gpt(model, {}, 1, false);
  std::vector<GptParameter> parameters;
  for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
    for (const ParameterSpec& spec : chain.stage_parameters(stage)) {
      parameters.push_back({chain.stage_name(stage) + "/" + spec.name, spec});
    }
  }
  return parameters;
}

void require_memory(const std::vector<GptParameter>& parameters, const std::string& path) {
  std::int64_t bytes = 0;
  for (const GptParameter& parameter : parameters) {
    bytes += parameter.spec.rows * parameter.spec.columns * static_cast<std::int64_t>(sizeof(float));
  }
  const std::int64_t available = available_host_memory();
  if (bytes <= available) return;
  throw Error(ExitCode::does_not_fit, errors::does_not_fit,
              fmt::format("{}: its parameters take {} in float, {} are available", path, format_bytes(bytes),
                          format_bytes(available)));
}

GptWeights read_checkpoint_weights(RankGroup& ranks, const std::string& path) {
  const CheckpointReader reader(ranks, path);
  const Options options = stored_options(reader);
  GptWeights weights;
  weights.model = options.model;
  if (weights.model.type != ModelType::gpt)
    fail_input(errors::wrong_format, "{}: its network is not a GPT", path);
  const std::optional<Vocabulary> vocabulary = read_stored_data(reader).vocabulary;
  if (weights.model.vocabulary == 0 && vocabulary) weights.model.vocabulary = vocabulary->size();
  weights.vocabulary = vocabulary ? vocabulary->size() : weights.model.vocabulary;
  if (weights.vocabulary > weights.model.vocabulary) {
    fail_input(errors::damaged, "{}: its vocabulary has {} tokens, its network {}", path, weights.vocabulary,
               weights.model.vocabulary);
  }
  weights.type = options.precision.compute;
  const std::vector<GptParameter> parameters = gpt_parameters(weights.model);
  reader.require_match(state_of(weights));  // before memory is allocated
  require_memory(parameters, path);
  for (const GptParameter& parameter : parameters) {
    weights.parameters[parameter.path].resize(
        static_cast<std::size_t>(parameter.spec.rows * parameter.spec.columns));
  }
  CheckpointState state = state_of(weights);
  reader.read(state);
  return weights;
}

std::string deck_of(const GptWeights& weights, const std::string& path) {
  Options options;
  constexpr std::size_t longest_name = 100;
  if (std::string name = std::filesystem::path(path).stem().string(); name.size() <= longest_name)
    options.run.name = std::move(name);
  options.run.steps = 1;
  options.model = weights.model;
  options.precision.compute = weights.type;
  return read_deck(resolve(options), path + ":/deck", {}).resolved;
}

void write_checkpoint_weights(RankGroup& ranks, GptWeights& weights, const std::string& path) {
  CheckpointHeader header;
  header.code_version = code_version();
  header.deck = deck_of(weights, path);
  RunState run;
  run.data.vocabulary = Vocabulary::tokens(weights.vocabulary);
  CheckpointState state = state_of(weights);
  add_data_state(state, run);
  write_checkpoint_file(ranks, path, header, state);
}

}  // namespace mylos
