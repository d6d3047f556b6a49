// mylos eval CKPT [--best] [--average] [--data FILE] [--split test|train|validation]
#include <fmt/format.h>

#include "commands.hpp"
#include "mylos/comm/collective_error.hpp"
#include "standard_output.hpp"
#include "trained_model.hpp"

namespace mylos::app {
namespace {

DataPart part_of(const std::string& name) {
  for (const DataPart part : {DataPart::train, DataPart::validation}) {
    if (name == name_of(part)) return part;
  }
  return DataPart::test;
}

}  // namespace

ExitCode evaluate_command(const EvaluateArguments& arguments) {
  DataPart part = part_of(arguments.split);
  const auto trained = open_trained_model(arguments.checkpoint, [&](DataOptions& data) {
    if (!arguments.data.empty()) {
      choose_whole_file(data, arguments.data);
    } else if (part == DataPart::test) {
      if (data.test.empty())
        fail_input("{}: its deck names no data.test; give --split validation or --data FILE",
                   arguments.checkpoint.path);
      choose_whole_file(data, std::string(data.test));
    } else {
      if (data.train.empty())
        fail_input("{}: its deck names no data.train; give --data FILE", arguments.checkpoint.path);
      data.test.clear();
    }
  });
  if (!arguments.data.empty() || part == DataPart::test) part = DataPart::train;
  if (!trained->data->has(part)) {
    fail_input("{}: the run held nothing out for validation (data.validation = 0)", trained->data->path());
  }
  const auto pass = trained->pass_over(part);
  const Evaluation result = evaluate(trained->context(), *trained->communicator, *pass);
  standard_output(trained->communicator->rank())
      .line(fmt::format("{} at step {}{} on {}: {}", trained->path, trained->step,
                        arguments.checkpoint.average ? ", average of weights," : "", trained->data->path(),
                        describe(result)));
  return ExitCode::done;
}

}  // namespace mylos::app
