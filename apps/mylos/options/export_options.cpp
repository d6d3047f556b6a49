#include <fmt/format.h>

#include "launch/usage.hpp"
#include "mylos/inference/input_check.hpp"
#include "mylos/model/onnx/onnx_builder.hpp"
#include "options/options.hpp"

namespace mylos::app {

void add_export(CLI::App& app, ExportArguments& arguments, Command& command) {
  CLI::App* exported = app.add_subcommand(
      "export", "Write a run's network as a model file or as ONNX: weights, scaling and names, no optimizer");
  exported
      ->add_option(
          "run", arguments.run.path,
          "Run's folder or its checkpoints folder (the newest valid checkpoint), or a checkpoint file")
      ->required();
  exported->add_option("output", arguments.output, "The file to write: MODEL.h5, or MODEL.onnx")->required();
  exported
      ->add_option("--type", arguments.type,
                   "The type of the weights, in which the model computes (default: the run's, of ONNX fp32); "
                   "layers in precision.rules keep theirs; ONNX: fp32 or fp16")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}));
  exported
      ->add_option("--opset", arguments.opset,
                   fmt::format("ONNX: the version of its operators, {} to {} (default: {})", min_onnx_opset,
                               max_onnx_opset, default_onnx_opset))
      ->check(integer_from(min_onnx_opset, max_onnx_opset));
  exported->add_flag(
      "--input-statistics", arguments.input_statistics,
      fmt::format("MODEL.h5: read the training data, and store mean and covariance of the inputs (at "
                  "most {}), by which programs recognise inputs far from them",
                  max_distance_inputs));
  exported->add_flag("--best", arguments.run.best, best_meaning);
  exported->add_flag("--average", arguments.run.average, "The weights' moving average (optimizer.average)");
  exported->footer(
      "MODEL.h5 is for eval, predict, sample, info and programs that use the library; MODEL.onnx is for ONNX "
      "Runtime and others.");
  exported->callback([&] { command = [&] { return export_command(arguments); }; });
}

}  // namespace mylos::app
