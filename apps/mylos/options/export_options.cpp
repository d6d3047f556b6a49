#include <fmt/format.h>

#include "launch/usage.hpp"
#include "mylos/inference/input_check.hpp"
#include "mylos/model/onnx/onnx_builder.hpp"
#include "options/options.hpp"

namespace mylos::app {

void add_export(CLI::App& app, ExportArguments& arguments, Command& command) {
  CLI::App* exported = app.add_subcommand("export",
                                          "Write a run's network as a model file, as ONNX or as source: "
                                          "weights, scaling and names, no optimizer");
  exported
      ->add_option(
          "run", arguments.run.path,
          "Run's folder or its checkpoints folder (the newest valid checkpoint), or a checkpoint file")
      ->required();
  exported
      ->add_option("output", arguments.output,
                   "The file to write: MODEL.h5, MODEL.onnx, or source: NET.hpp, NET.c, NET.f90")
      ->required();
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
  exported
      ->add_option("--real", arguments.real,
                   "Source: the type of its arithmetic and arguments (default: float)")
      ->check(CLI::IsMember({"float", "double"}));
  exported->add_option("--name", arguments.name,
                       "Source: the prefix of its functions, namespace or module (default: the file's name)");
  exported
      ->add_option("--derivative", arguments.derivative,
                   "Source: also a function for derivatives of the outputs with respect to the inputs "
                   "(default: none)")
      ->check(CLI::IsMember({"none", "jvp", "vjp", "jacobian"}));
  exported->add_flag("--best", arguments.run.best, best_meaning);
  exported->add_flag("--average", arguments.run.average, "The weights' moving average (optimizer.average)");
  exported->footer(
      "MODEL.h5 is for eval, predict, sample, info and programs that use the library; MODEL.onnx is for ONNX "
      "Runtime and others; NET.hpp (C++ and Kokkos), NET.c (C99) and NET.f90 (Fortran 2008) compute the "
      "network without any library. Of more than 1,000,000 weights, source comes with NET.weights, which it "
      "reads.");
  exported->callback([&] { command = [&] { return export_command(arguments); }; });
}

}  // namespace mylos::app
