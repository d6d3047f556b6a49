#include "options/options.hpp"

#include "launch/usage.hpp"

namespace mylos::app {

void add_convert(CLI::App& app, ConvertArguments& arguments, Command& command) {
  CLI::App* convert = app.add_subcommand("convert",
                                         "Turn a checkpoint's weights into safetensors, a GPT's into Hugging "
                                         "Face's GPT-2, or GPT-2, PyTorch's weights or an ONNX file into a "
                                         "checkpoint");
  convert
      ->add_option("input", arguments.input.path,
                   "Checkpoint file, run's folder, FILE.safetensors, or NET.onnx")
      ->required();
  convert->add_flag("--best", arguments.input.best, best_meaning);
  convert
      ->add_option(
          "output", arguments.output,
          "FILE.safetensors (config.json is written beside it), or the checkpoint's FILE.h5 (of NET.onnx, "
          "its deck is written beside it: FILE.toml)")
      ->required();
  convert->add_option("--deck", arguments.deck,
                      "Into a checkpoint: the deck of the network that PyTorch's weights are for");
  convert->add_option(
      "--map", arguments.map,
      "With --deck: a file of lines TENSOR PARAMETER (TENSOR - where one is not used) for what "
      "names, order and shapes do not decide");
  convert
      ->add_option("--heads", arguments.heads,
                   "Attention heads, if no config.json beside the safetensors file has them")
      ->check(integer_from(1, 1 << 20));
  convert
      ->add_option("--pad-vocabulary", arguments.pad_vocabulary,
                   "Into a checkpoint: pad the vocabulary to a multiple of this (128 makes GEMMs fast)")
      ->check(integer_from(1, 1 << 16));
  convert
      ->add_option("--names", arguments.names,
                   "Out of a checkpoint: gpt2 (Hugging Face's; a GPT's default) or own (LAYER.PARAMETER, in "
                   "PyTorch's order, with the normalisation; any network)")
      ->check(CLI::IsMember({"gpt2", "own"}));
  convert->add_option("--type", arguments.type, "Out of a checkpoint: fp32 (default), bf16 or fp16")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}));
  convert->callback([&] { command = [&] { return convert_command(arguments); }; });
}

}  // namespace mylos::app
