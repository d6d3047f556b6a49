// mylos convert IN OUT: from a checkpoint to safetensors, between a GPT's checkpoint and Hugging Face's
// GPT-2, and from PyTorch's weights, or an ONNX file, to a checkpoint.
#include <fmt/format.h>
#include <mpi.h>

#include "commands.hpp"
#include "commands/checkpoint_output.hpp"
#include "commands/convert_onnx.hpp"
#include "commands/open_model.hpp"
#include "commands/output_name.hpp"
#include "commands/replaced_file.hpp"
#include "launch/runtime.hpp"
#include "launch/shared_deck.hpp"
#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/regular_file.hpp"
#include "mylos/checkpoint/file/describe.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/comm/options.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/config/deck/deck_without_length.hpp"
#include "mylos/data/run/data_paths.hpp"
#include "mylos/interchange/foreign_weights.hpp"
#include "mylos/interchange/huggingface_gpt2.hpp"
#include "mylos/interchange/weight_export.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/train/run/initial_checkpoint.hpp"

namespace mylos::app {
namespace {

constexpr const char* weights_ending = ".safetensors";

/// "12 layers, 12 heads, width 768, context 1024, 50257 tokens"
std::string describe(const GptWeights& weights) {
  const ModelOptions& model = weights.model;
  const std::string padding =
      model.vocabulary == weights.vocabulary ? "" : fmt::format(" padded to {}", model.vocabulary);
  return fmt::format("{} layers, {} heads, width {}, context {}, {} tokens{}{}", model.layers, model.heads,
                     model.width, model.context, weights.vocabulary, padding, model.tied ? "" : ", own head");
}

DType type_of(const std::string& name) {
  for (const DType type : {DType::fp16, DType::bf16}) {
    if (name == name_of(type)) return type;
  }
  return DType::fp32;
}

std::string describe_losses(const ConversionSafety& safety, DType type) {
  const ConversionCounts& counts = safety.to(type);
  return fmt::format(
      "{}: of {} values {} overflow, {} go to zero, {} become subnormal; relative error at most {:.2g}",
      name_of(type), safety.values, counts.overflows, counts.to_zero, counts.subnormal, counts.largest_error);
}

ExitCode to_huggingface(RankGroup& ranks, const std::string& checkpoint, const ConvertArguments& arguments) {
  const GptWeights weights = read_checkpoint_weights(ranks, checkpoint);
  const DType type = type_of(arguments.type);
  if (type != DType::fp32) standard_output(0).line(describe_losses(huggingface_safety(weights), type));
  write_huggingface(weights, arguments.output, type);
  standard_output(0).line(
      fmt::format("{}: GPT-2 in {}, {}", arguments.output, name_of(type), describe(weights)));
  return ExitCode::done;
}

ExitCode to_own_names(RankGroup& ranks, const std::string& checkpoint, const ConvertArguments& arguments) {
  WeightFile file(ranks, checkpoint);
  const DType type = type_of(arguments.type);
  if (type != DType::fp32) standard_output(0).line(describe_losses(weights_safety(file), type));
  const ExportedWeights exported = write_weights(file, arguments.output, type);
  std::int64_t weights = 0;
  for (const WeightEntry& entry : file.entries()) weights += entry.size();
  standard_output(0).line(fmt::format("{}: {} tensors of {} weights in {}{}", arguments.output,
                                      file.entries().size(), weights, name_of(type),
                                      exported.statistics == 0 ? "" : ", and the normalisation in fp64"));
  if (!exported.is_channels_first) {
    standard_output(0).line(
        fmt::format("{}: channels lie last, as in the checkpoint: {} does not say the grid of its samples, "
                    "which PyTorch's layout needs",
                    arguments.output, checkpoint));
  }
  return ExitCode::done;
}

/// Uses Hugging Face's names for a GPT, unless the command line sets other names.
ExitCode to_safetensors(RankGroup& ranks, const std::string& checkpoint, const ConvertArguments& arguments) {
  if (!arguments.output.ends_with(weights_ending)) {
    fail_input(errors::bad_argument, "{}: a checkpoint is converted into a file whose name ends in {}",
               arguments.output, weights_ending);
  }
  require_replaceable(arguments.output, OutputKind::other);
  if (arguments.heads != 0 || arguments.pad_vocabulary != 1) {
    fail_input(errors::arguments_conflict,
               "--heads and --pad-vocabulary are for the conversion into a checkpoint; {} already is one",
               checkpoint);
  }
  if (arguments.names == "own") return to_own_names(ranks, checkpoint, arguments);
  if (arguments.names == "gpt2") return to_huggingface(ranks, checkpoint, arguments);
  const CheckpointReader reader(ranks, checkpoint);
  const bool is_gpt = stored_options(reader).model.type == ModelType::gpt;
  return is_gpt ? to_huggingface(ranks, checkpoint, arguments) : to_own_names(ranks, checkpoint, arguments);
}

void require_checkpoint_name(const ConvertArguments& arguments) {
  if (arguments.output.ends_with(weights_ending)) {
    fail_input(errors::wrong_format,
               "{}: is not a checkpoint, and {} would not be one; one of the two must be",
               arguments.input.path, arguments.output);
  }
}

ExitCode to_checkpoint(RankGroup& ranks, const ConvertArguments& arguments) {
  require_checkpoint_name(arguments);
  if (!arguments.map.empty()) {
    fail_input(errors::arguments_conflict,
               "--map is for the conversion with --deck; the tensors of GPT-2 are known by their names");
  }
  if (!arguments.names.empty()) {
    fail_input(errors::arguments_conflict,
               "--names is for the conversion of a checkpoint; weights that become one have GPT-2's names");
  }
  if (!arguments.type.empty()) {
    fail_input(errors::arguments_conflict,
               "--type is for the conversion of a checkpoint; masters in a checkpoint are always float");
  }
  require_checkpoint_output(arguments.output, "gpt2.h5");
  GptWeights weights = read_huggingface(
      arguments.input.path, {.heads = arguments.heads, .pad_vocabulary = arguments.pad_vocabulary});
  write_checkpoint_weights(ranks, weights, arguments.output);
  standard_output(0).line(fmt::format("{}: checkpoint of a GPT, {}", arguments.output, describe(weights)));
  return ExitCode::done;
}

void require_no_other_options(const ConvertArguments& arguments) {
  const auto refuse = [](const char* option) {
    fail_input(errors::arguments_conflict,
               "{} is not for a conversion with --deck, which describes the network; leave it out", option);
  };
  if (arguments.heads != 0) refuse("--heads");
  if (arguments.pad_vocabulary != 1) refuse("--pad-vocabulary");
  if (!arguments.names.empty()) refuse("--names");
  if (!arguments.type.empty()) refuse("--type");
}

std::string describe_normalization(const DataOptions& data) {
  if (data.train.empty() || data.normalize == Normalize::none)
    return "normalisation: none; the network takes and gives numbers as they are in the data";
  return "normalisation: data.normalize of this deck's data; it must be that of the original training";
}

ExitCode to_checkpoint_of_deck(const std::string& input, const ConvertArguments& arguments) {
  require_no_other_options(arguments);
  require_checkpoint_name(arguments);
  Deck deck;
  {
    RankGroup& ranks = ranks_of_start();
    deck = read_shared_deck(ranks, arguments.deck, {}, read_deck_without_length);
  }
  for (const std::string& file : {arguments.deck, arguments.map}) {
    if (!file.empty()) require_other_file(file, arguments.output);
  }
  require_other_than_data(deck.options.data, arguments.output);
  require_checkpoint_output(arguments.output);
  ForeignWeights weights(input, arguments.map);
  const Output output = standard_output(0);
  const OtherWeights source{.prepare =
                                [&](const Options& options, const Chain& chain) {
                                  weights.match(options.model, chain);
                                  for (const std::string& line : weights.table()) output.line(line);
                                },
                            .read = [&](const std::string& parameter) { return weights.read(parameter); }};
  const KokkosRuntime kokkos(deck.options.run.threads);
  const std::int64_t parameters =
      write_initial_checkpoint(deck, MPI_COMM_WORLD, arguments.output, output, &source);
  output.line(describe_normalization(deck.options.data));
  output.line(fmt::format("{}: checkpoint of step 0, {} parameters, with weights of {}", arguments.output,
                          parameters, input));
  return ExitCode::done;
}

}  // namespace

ExitCode convert_command(const ConvertArguments& arguments) {
  std::string input;
  bool is_checkpoint = false;
  {
    RankGroup& ranks = ranks_of_start();
    if (ranks.size() > 1)
      fail_input(errors::wrong_rank_count, "mylos convert runs on one rank; start it without mpirun");
    input = checkpoint_file(ranks, arguments.input);
    require_regular_file(input);
    require_other_file(input, arguments.output);
    is_checkpoint = looks_like_checkpoint(input);
    if (is_checkpoint) {
      if (!arguments.deck.empty() || !arguments.map.empty()) {
        fail_input(errors::arguments_conflict,
                   "--deck and --map are for a safetensors file that becomes a checkpoint; {} already is one",
                   input);
      }
      return to_safetensors(ranks, input, arguments);
    }
    if (has_onnx_name(input) && arguments.deck.empty()) return convert_onnx(input, arguments);
    refuse_other_formats(input);
    if (arguments.deck.empty()) return to_checkpoint(ranks, arguments);
  }
  return to_checkpoint_of_deck(input, arguments);
}

}  // namespace mylos::app
