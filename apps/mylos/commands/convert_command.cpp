// mylos convert IN OUT: from a checkpoint to safetensors, and between a GPT's checkpoint and Hugging Face's
// GPT-2.
#include <fmt/format.h>

#include <filesystem>

#include "commands.hpp"
#include "commands/trained_model.hpp"
#include "launch/standard_output.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/checkpoint/file/describe.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/comm/options.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/interchange/huggingface_gpt2.hpp"
#include "mylos/interchange/weight_export.hpp"
#include "mylos/io/files/atomic_publish.hpp"

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
    fail_input(ErrorId::bad_argument, "{}: a checkpoint is converted into a file whose name ends in {}",
               arguments.output, weights_ending);
  }
  if (arguments.heads != 0 || arguments.pad_vocabulary != 1) {
    fail_input(ErrorId::arguments_conflict,
               "--heads and --pad-vocabulary are for the conversion into a checkpoint; {} already is one",
               checkpoint);
  }
  if (arguments.names == "own") return to_own_names(ranks, checkpoint, arguments);
  if (arguments.names == "gpt2") return to_huggingface(ranks, checkpoint, arguments);
  const CheckpointReader reader(ranks, checkpoint);
  const bool is_gpt = read_stored_deck(reader.header().deck, checkpoint).options.model.type == ModelType::gpt;
  return is_gpt ? to_huggingface(ranks, checkpoint, arguments) : to_own_names(ranks, checkpoint, arguments);
}

ExitCode to_checkpoint(RankGroup& ranks, const ConvertArguments& arguments) {
  if (arguments.output.ends_with(weights_ending)) {
    fail_input(ErrorId::wrong_format,
               "{}: is not a checkpoint, and {} would not be one; one of the two must be",
               arguments.input.path, arguments.output);
  }
  std::error_code failure;
  const auto there = std::filesystem::status(arguments.output, failure);
  if (failure && there.type() != std::filesystem::file_type::not_found) {
    fail_input(ErrorId::cannot_write, "{}: cannot be written: {}; name another file",
               printable(arguments.output), failure.message());
  }
  if (std::filesystem::is_directory(there)) {
    fail_input(ErrorId::not_a_file, "{}: is a folder; give the checkpoint's file, {}/gpt2.h5",
               arguments.output, arguments.output);
  }
  if (!arguments.names.empty()) {
    fail_input(ErrorId::arguments_conflict,
               "--names is for the conversion of a checkpoint; weights that become one have GPT-2's names");
  }
  if (!arguments.type.empty()) {
    fail_input(ErrorId::arguments_conflict,
               "--type is for the conversion of a checkpoint; masters in a checkpoint are always float");
  }
  GptWeights weights = read_huggingface(
      arguments.input.path, {.heads = arguments.heads, .pad_vocabulary = arguments.pad_vocabulary});
  write_checkpoint_weights(ranks, weights, arguments.output);
  standard_output(0).line(fmt::format("{}: checkpoint of a GPT, {}", arguments.output, describe(weights)));
  return ExitCode::done;
}

}  // namespace

ExitCode convert_command(const ConvertArguments& arguments) {
  RankGroup ranks(MPI_COMM_WORLD, CommunicationOptions{}.timeout_s);
  if (ranks.size() > 1)
    fail_input(ErrorId::wrong_rank_count, "mylos convert runs on one rank; start it without mpirun");
  const std::string input = checkpoint_file(ranks, arguments.input);
  require_other_file(input, arguments.output);
  return looks_like_checkpoint(input) ? to_safetensors(ranks, input, arguments)
                                      : to_checkpoint(ranks, arguments);
}

}  // namespace mylos::app
