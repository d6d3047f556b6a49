// mylos eval CKPT [--best] [--average] [--data FILE] [--split test|train|validation] [--metrics a,b]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "commands.hpp"
#include "measures.hpp"
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

/// What the user asked for beside the loss, from the outputs of all samples, which come to rank 0.
class MoreMetrics {
 public:
  /// Throws Error (bad_input) for what such a network does not have.
  MoreMetrics(const std::vector<std::string>& wanted, const TrainedModel& trained, DataPart part)
      : wanted_(wanted), trained_(trained), part_(part) {
    if (wanted.empty()) return;
    const LossType loss = trained.model->chain().loss();
    const bool classifies = loss == LossType::cross_entropy;
    if (trained.vocabulary)
      fail_input("{}: --metrics are of labelled samples, and it is a network of tokens", trained.path);
    for (const std::string& name : wanted) {
      if ((name == "r2") == classifies || (name == "r2" && loss == LossType::binary_cross_entropy)) {
        fail_input("{}: has no {}: its model.loss is \"{}\"", trained.path, name, name_of(loss));
      }
    }
    data_.emplace(trained.data->path());
    const std::int64_t outputs = trained.model->chain().outputs();
    if (classifies) classes_.emplace(outputs);
    if (!classifies) targets_.emplace(outputs);
  }

  void compute_and_print() {
    if (!data_) return;
    RankGroup& ranks = trained_.communicator->ranks();
    const auto pass = trained_.pass_over(part_);
    const std::int64_t first = part_ == DataPart::validation ? trained_.data->samples(DataPart::train) : 0;
    predict(trained_.context(), ranks, *pass, [&](const Share& samples, std::span<float> outputs) {
      take({first + samples.first, samples.count}, outputs);
    });
    if (ranks.rank() == 0) print();
  }

 private:
  void take(const Share& rows, std::span<float> outputs) {
    if (classes_) {
      labels_.resize(static_cast<std::size_t>(rows.count));
      data_->read_labels(rows.first, rows.count, labels_.data());
      for (std::int64_t i = 0; i < rows.count; ++i)
        data_->require_label(rows.first + i, labels_[static_cast<std::size_t>(i)]);
      classes_->add(outputs, labels_);
    } else {
      trained_.normalizer.undo_targets(outputs);
      answers_.resize(outputs.size());
      data_->read_targets(rows.first, rows.count, answers_.data());
      targets_->add(outputs, answers_);
    }
  }

  void print() const {
    const Output output = standard_output(0);
    for (const std::string& name : wanted_) {
      if (name == "top5") {
        output.line(fmt::format("top-1 accuracy {:.4f}, top-5 accuracy {:.4f} ({} samples)",
                                classes_->accuracy(1), classes_->accuracy(5), classes_->rows()));
      } else if (name == "confusion") {
        print_confusion(output);
      } else {
        print_r2(output);
      }
    }
  }

  void print_r2(const Output& output) const {
    const std::vector<double> of_targets = targets_->r2();
    double sum = 0;
    std::int64_t count = 0;
    for (const double each : of_targets) {
      if (std::isnan(each)) continue;
      sum += each;
      ++count;
    }
    output.line(fmt::format("R2 {:.6g}, the mean of {} of {} targets", sum / static_cast<double>(count),
                            count, of_targets.size()));
    constexpr std::size_t most_listed = 20;
    if (of_targets.size() == 1 || of_targets.size() > most_listed) return;
    for (std::size_t i = 0; i < of_targets.size(); ++i)
      output.line(fmt::format("R2 of target {}: {:.6g}", i, of_targets[i]));
  }

  void print_confusion(const Output& output) const {
    std::vector<std::string> names = data_->class_names();
    if (names.empty()) {
      for (std::int64_t i = 0; i < data_->outputs(); ++i) names.push_back(std::to_string(i));
    }
    std::size_t width = std::to_string(classes_->rows()).size();
    for (const std::string& name : names) width = std::max(width, name.size());
    output.line("confusion matrix: a row for each label, a column for each class that was predicted");
    std::string line = fmt::format("{:>{}}", "", width);
    for (const std::string& name : names) line += fmt::format(" {:>{}}", name, width);
    output.line(line);
    for (std::size_t label = 0; label < names.size(); ++label) {
      line = fmt::format("{:>{}}", names[label], width);
      for (std::size_t predicted = 0; predicted < names.size(); ++predicted) {
        line += fmt::format(
            " {:>{}}",
            classes_->confused(static_cast<std::int64_t>(label), static_cast<std::int64_t>(predicted)),
            width);
      }
      output.line(line);
    }
    if (classes_->rows_with_nan() > 0)
      output.line(
          fmt::format("{} samples with outputs that are NaN are in no cell", classes_->rows_with_nan()));
  }

  const std::vector<std::string>& wanted_;
  const TrainedModel& trained_;
  DataPart part_;
  std::optional<Dataset> data_;
  std::optional<ClassMeasures> classes_;
  std::optional<TargetMeasures> targets_;
  std::vector<std::int32_t> labels_;
  std::vector<float> answers_;
};

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
  std::optional<MoreMetrics> more;
  run_on_all(trained->communicator->ranks(), [&] { more.emplace(arguments.metrics, *trained, part); });
  const auto pass = trained->pass_over(part);
  const Evaluation result = evaluate(trained->context(), *trained->communicator, *pass);
  standard_output(trained->communicator->rank())
      .line(fmt::format("{} at step {}{} on {}: {}", trained->path, trained->step,
                        arguments.checkpoint.average ? ", average of weights," : "", trained->data->path(),
                        describe(result)));
  more->compute_and_print();
  return ExitCode::done;
}

}  // namespace mylos::app
