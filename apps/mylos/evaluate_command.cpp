// mylos eval CKPT [--data FILE] [--split test|train|validation]
#include <fmt/format.h>

#include "commands.hpp"
#include "mylos/comm/collective_error.hpp"
#include "trained_model.hpp"

namespace mylos::app {
namespace {

Split split_of(const Dataset& data, const std::string& name, bool own_file, double validation) {
  if (own_file || name == "test") return {0, data.samples()};
  const Splits splits = split_samples(data.samples(), validation);
  if (name == "train") return splits.train;
  if (splits.validation.count == 0) {
    fail_input("{}: the run held no samples out for validation (data.validation = 0)", data.path());
  }
  return splits.validation;
}

}  // namespace

ExitCode evaluate_command(const EvaluateArguments& arguments) {
  const auto trained = open_trained_model(arguments.checkpoint, arguments.data, [&](const DataOptions& data) {
    if (arguments.split != "test") return data.train;
    if (data.test.empty())
      fail_input("{}: its deck names no data.test; give --data FILE", arguments.checkpoint);
    return data.test;
  });
  const Split split = split_of(*trained->data, arguments.split, !arguments.data.empty(),
                               trained->deck.options.data.validation);
  EvaluationReader reader = trained->reader(split);
  const Evaluation result = evaluate(trained->context(), *trained->communicator, reader);
  standard_output(trained->communicator->rank())
      .line(fmt::format("{} at step {} on {}: {}", trained->path, trained->step, trained->data->path(),
                        describe(result, trained->deck.options.model.loss)));
  return ExitCode::done;
}

}  // namespace mylos::app
