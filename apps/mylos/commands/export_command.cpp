// mylos export RUN MODEL.h5|MODEL.onnx [--type fp32|bf16|fp16] [--opset N] [--best] [--average]
// [--input-statistics]
// mylos export RUN NET.hpp|NET.c|NET.f90 [--real float|double] [--name IDENT] [--derivative
// none|jvp|vjp|jacobian]
// [--best] [--average]
#include <fmt/format.h>

#include <filesystem>

#include "commands.hpp"
#include "commands/model_output.hpp"
#include "commands/open_model.hpp"
#include "commands/output_name.hpp"
#include "commands/training_inputs.hpp"
#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/inference/model_file.hpp"
#include "mylos/inference/stored/network_state.hpp"
#include "mylos/interchange/onnx/onnx_file.hpp"
#include "mylos/interchange/onnx/onnx_network.hpp"
#include "mylos/interchange/source/source_export.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos::app {
namespace {

std::optional<DType> exported_type(const std::string& name) {
  for (const DType type : compute_types) {
    if (name == name_of(type)) return type;
  }
  return std::nullopt;
}

void refuse_option(const ExportArguments& arguments, const char* option, const char* files) {
  fail_input(errors::arguments_conflict, "{}: {} is for {}; leave it out, or name the output so",
             printable(arguments.output), option, files);
}

/// Options of source and of other files exclude each other.
void require_options_of_source(const ExportArguments& arguments) {
  const bool is_source = source_language(arguments.output).has_value();
  constexpr const char* of_source = "source: NET.hpp, NET.c or NET.f90";
  if (is_source) {
    if (!arguments.type.empty()) refuse_option(arguments, "--type", "MODEL.h5 and MODEL.onnx");
    if (arguments.opset != 0) refuse_option(arguments, "--opset", "MODEL.onnx");
    if (arguments.input_statistics) refuse_option(arguments, "--input-statistics", "MODEL.h5");
    return;
  }
  if (!arguments.real.empty()) refuse_option(arguments, "--real", of_source);
  if (!arguments.name.empty()) refuse_option(arguments, "--name", of_source);
  if (!arguments.derivative.empty()) refuse_option(arguments, "--derivative", of_source);
}

/// Throws Error (bad_input) where options do not apply to the kind of the file.
void require_options_apply(const ExportArguments& arguments) {
  require_options_of_source(arguments);
  if (source_language(arguments.output)) return;
  if (!has_onnx_name(arguments.output)) {
    if (arguments.opset != 0)
      fail_input(errors::arguments_conflict,
                 "{}: --opset is for ONNX files; name the output MODEL.onnx, or leave --opset out",
                 printable(arguments.output));
    return;
  }
  if (arguments.input_statistics)
    fail_input(errors::arguments_conflict,
               "{}: --input-statistics is for model files; name the output MODEL.h5, or leave it out",
               printable(arguments.output));
  require_onnx();
  if (arguments.type == name_of(DType::bf16))
    fail_input(errors::arguments_conflict,
               "{}: --type bf16: ONNX's operators compute in fp32 or fp16; give one of these",
               printable(arguments.output));
}

/// Refuses to replace what is no model file that can be written again: a checkpoint, or the data of the run.
void require_replaceable(const CheckpointReader& checkpoint, const std::string& output) {
  if (output.ends_with(".safetensors")) {
    fail_input(
        errors::bad_argument,
        "{}: `mylos export` writes HDF5 and ONNX; name it MODEL.h5 or MODEL.onnx, or let `mylos convert` "
        "write safetensors",
        printable(output));
  }
  if (has_ending_after_onnx(output)) {
    fail_input(
        errors::bad_argument,
        "{}: `mylos export` writes HDF5 and ONNX, neither compressed nor in parts; name it MODEL.h5 or "
        "MODEL.onnx",
        printable(output));
  }
  if (source_language(output)) {
    require_source_output(checkpoint.path(), stored_options(checkpoint).data, output);
    return;
  }
  if (!has_onnx_name(output)) require_hdf5_name(output, ", MODEL.onnx, NET.hpp, NET.c or NET.f90");
  require_model_output(checkpoint.path(), stored_options(checkpoint).data, output);
}

/// "of step 500", or "of step 500, average of weights,"
std::string origin_of(const CheckpointReader& checkpoint, bool average) {
  return fmt::format("of step {}{}", checkpoint.header().step, average ? ", average of weights," : "");
}

void export_onnx(const CheckpointReader& checkpoint, const ExportArguments& arguments,
                 StoredWeights weights) {
  OnnxOptions options{.type = exported_type(arguments.type).value_or(DType::fp32), .weights = weights};
  if (arguments.opset != 0) options.opset = arguments.opset;
  OnnxModel model = make_onnx_model(checkpoint, options);
  const std::size_t nodes = model.graph.nodes.size();
  write_onnx(std::move(model.graph), arguments.output);
  standard_output(0).line(fmt::format("{}: ONNX graph {} in {}, opset {}, {} nodes, {} weights ({}), from {}",
                                      arguments.output, origin_of(checkpoint, arguments.run.average),
                                      name_of(options.type), options.opset, nodes, model.weights,
                                      format_bytes(model.weight_bytes), checkpoint.path()));
}

SourceDerivative derivative_of(const std::string& name) {
  if (name == "jvp") return SourceDerivative::jvp;
  if (name == "vjp") return SourceDerivative::vjp;
  if (name == "jacobian") return SourceDerivative::jacobian;
  return SourceDerivative::none;
}

void export_source_file(const CheckpointReader& checkpoint, const ExportArguments& arguments,
                        const SourceOptions& options) {
  const ExportedSource source = export_source(checkpoint, options);
  const std::string weights = std::filesystem::path(arguments.output).replace_extension(".weights").string();
  if (!source.weights.empty()) {  // before the source, which reads them
    require_source_output(checkpoint.path(), stored_options(checkpoint).data, weights);
    publish_text(weights, source.weights);
  }
  publish_text(arguments.output, source.text);
  standard_output(0).line(fmt::format(
      "{}: source {} in {}, {} inputs, {} outputs, {} constants{}, from {}", arguments.output,
      origin_of(checkpoint, arguments.run.average), options.is_double ? "double" : "float", source.inputs,
      source.outputs, source.numbers, source.weights.empty() ? "" : " in " + weights, checkpoint.path()));
}

SourceOptions source_options(const ExportArguments& arguments, SourceLanguage language,
                             StoredWeights weights) {
  SourceOptions options{.language = language,
                        .name = arguments.name,
                        .is_double = arguments.real == "double",
                        .derivative = derivative_of(arguments.derivative),
                        .weights = weights};
  if (options.name.empty()) options.name = std::filesystem::path(arguments.output).stem().string();
  return options;
}

void export_model_file(const CheckpointReader& checkpoint, const ExportArguments& arguments,
                       StoredWeights weights) {
  ModelFileOptions options{.type = exported_type(arguments.type), .weights = weights};
  if (arguments.input_statistics) options.inputs = measure_training_inputs(checkpoint);
  const WrittenModel written = write_model_file(checkpoint, arguments.output, options);
  standard_output(0).line(fmt::format("{}: model {} in {}, {} weights ({}), from {}", arguments.output,
                                      origin_of(checkpoint, arguments.run.average), name_of(written.type),
                                      written.weights, format_bytes(written.weight_bytes),
                                      checkpoint.path()));
  if (options.inputs)
    standard_output(0).line(describe_inputs(*options.inputs, stored_samples(checkpoint).input_names));
}

}  // namespace

ExitCode export_command(const ExportArguments& arguments) {
  RankGroup& ranks = ranks_of_start();
  if (ranks.size() > 1)
    fail_input(errors::wrong_rank_count, "mylos export runs on one rank; start it without mpirun");
  require_options_apply(arguments);
  const CheckpointReader checkpoint(ranks, checkpoint_file(ranks, arguments.run));
  require_average(checkpoint, arguments.run);
  require_replaceable(checkpoint, arguments.output);
  const StoredWeights weights = arguments.run.average ? StoredWeights::average : StoredWeights::current;
  if (const auto language = source_language(arguments.output)) {
    export_source_file(checkpoint, arguments, source_options(arguments, *language, weights));
  } else if (has_onnx_name(arguments.output)) {
    export_onnx(checkpoint, arguments, weights);
  } else {
    export_model_file(checkpoint, arguments, weights);
  }
  return ExitCode::done;
}

}  // namespace mylos::app
