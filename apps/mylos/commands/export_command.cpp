// mylos export RUN MODEL.h5 [--type fp32|bf16|fp16] [--best] [--average]
#include <fmt/format.h>

#include <filesystem>

#include "commands.hpp"
#include "commands/prediction_file.hpp"
#include "commands/trained_model.hpp"
#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/checkpoint/file/user_block.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/data/run/data_paths.hpp"
#include "mylos/inference/model_file.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos::app {
namespace {

std::optional<DType> exported_type(const std::string& name) {
  for (const DType type : compute_types) {
    if (name == name_of(type)) return type;
  }
  return std::nullopt;
}

/// Refuses to replace what is no model file that can be written again: a checkpoint, or the data of the run.
void require_replaceable(const CheckpointReader& checkpoint, const std::string& output) {
  if (output.ends_with(".safetensors")) {
    fail_input(ErrorId::bad_argument,
               "{}: `mylos export` writes HDF5; name it MODEL.h5, or let `mylos convert` write safetensors",
               printable(output));
  }
  require_hdf5_name(output);
  std::error_code failure;
  const std::filesystem::file_status there = std::filesystem::status(output, failure);
  if (failure && there.type() != std::filesystem::file_type::not_found)
    fail_input(ErrorId::cannot_write, "{}: cannot be written: {}; name another file", printable(output),
               failure.message());
  if (std::filesystem::is_directory(there))
    fail_input(ErrorId::not_a_file, "{}: is a folder; give the model's file, {}/model.h5", output, output);
  require_other_file(checkpoint.path(), output);
  if (kind_of_file(output) == FileKind::checkpoint)
    fail_input(ErrorId::already_exists,
               "{}: is a checkpoint, which a model file cannot replace; name another file", output);
  const Options options = read_stored_deck(checkpoint.header().deck, checkpoint.path()).options;
  require_other_than_data(options.data, output);
}

}  // namespace

ExitCode export_command(const ExportArguments& arguments) {
  RankGroup ranks = ranks_of_start();
  if (ranks.size() > 1)
    fail_input(ErrorId::wrong_rank_count, "mylos export runs on one rank; start it without mpirun");
  const CheckpointReader checkpoint(ranks, checkpoint_file(ranks, arguments.run));
  require_average(checkpoint, arguments.run);
  require_replaceable(checkpoint, arguments.output);
  const WrittenModel written =
      write_model_file(checkpoint, arguments.output,
                       {.type = exported_type(arguments.type),
                        .weights = arguments.run.average ? StoredWeights::average : StoredWeights::current});
  standard_output(0).line(fmt::format(
      "{}: model of step {}{} in {}, {} weights ({}), from {}", arguments.output, checkpoint.header().step,
      arguments.run.average ? ", average of weights," : "", name_of(written.type), written.weights,
      format_bytes(written.weight_bytes), checkpoint.path()));
  return ExitCode::done;
}

}  // namespace mylos::app
