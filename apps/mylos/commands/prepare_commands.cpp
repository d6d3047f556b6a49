// mylos prepare idx|images|csv|text|tokens ... --out FILE, prepare stamp FILE
#include <fmt/format.h>

#include "commands.hpp"
#include "commands/output_name.hpp"
#include "commands/replaced_file.hpp"
#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/data/files/dataset.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/data/tokens/stamp.hpp"
#include "mylos/data/tokens/token_dataset.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos::app {
namespace {

void require_one_rank() {
  if (size_of_start() > 1)
    fail_input(errors::wrong_rank_count, "mylos prepare runs on one rank; start it without mpirun");
}

/// On one rank, into a file of its own that is called as one of HDF5.
void require_start(const std::vector<std::string>& inputs, const std::string& output) {
  require_one_rank();
  for (const std::string& input : inputs) require_other_file(input, output);
  require_hdf5_name(output);
  require_replaceable(output, OutputKind::data);
}

/// Of what stands between commas outside double quotes.
std::vector<std::string> names_between_commas(const char* option, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words) {
    std::string name;
    bool is_quoted = false;
    std::size_t opened = 0;
    for (std::size_t i = 0; i <= word.size(); ++i) {
      if (i == word.size() || (word[i] == ',' && !is_quoted)) {
        if (name.empty())
          fail_input(errors::bad_argument, "{}: has an empty name; expected columns, a,b,c", option);
        names.push_back(std::move(name));
        name.clear();
      } else if (word[i] == '"') {
        is_quoted = !is_quoted;
        if (is_quoted && i > 0 && word[i - 1] == '"') name += '"';  // a doubled one within quotes
        if (is_quoted) opened = i;
      } else {
        name += word[i];
      }
    }
    if (is_quoted)
      fail_input(errors::bad_argument, "{}: the quote before '{}' is not closed", option,
                 printable(word.substr(opened + 1)));
  }
  return names;
}

std::string describe_truth(const Dataset& data) {
  if (data.task() == Task::none) return "no labels or targets: for `mylos predict`";
  return fmt::format("{} {}", data.outputs(), data.task() == Task::classification ? "classes" : "targets");
}

ExitCode print_summary(const std::string& path) {
  const Dataset data(path, GroundTruth::optional);
  standard_output(0).line(fmt::format("{}: {} samples of {} features, {}", path, data.samples(),
                                      data.features(), describe_truth(data)));
  return ExitCode::done;
}

/// Of all samples; a run's data.normalize goes by its training samples.
void print_channels(const std::string& path) {
  const Dataset data(path, GroundTruth::optional);
  const ColumnStatistics of = channel_statistics(data.input_statistics(), data.grid().back());
  for (std::size_t i = 0; i < of.mean.size(); ++i) {
    standard_output(0).line(
        fmt::format("{}: channel {} from {} to {}, mean {:.4f}, standard deviation {:.4f}", path, i,
                    of.minimum[i], of.maximum[i], of.mean[i], of.deviation[i]));
  }
}

ExitCode print_token_summary(const std::string& path) {
  const TokenDataset data(path);
  standard_output(0).line(fmt::format("{}: {} tokens ({}), a vocabulary of {} {}", path, data.tokens(),
                                      name_of(data.type()), data.vocabulary().size(),
                                      name_of(data.vocabulary().kind())));
  return ExitCode::done;
}

}  // namespace

ExitCode prepare_idx_command(const PrepareIdx& job) {
  require_start({job.images, job.labels}, job.out);
  prepare(job);
  return print_summary(job.out);
}

ExitCode prepare_csv_command(PrepareCsv job) {
  require_start({job.file}, job.out);
  job.inputs = names_between_commas("--inputs", job.inputs);
  job.targets = names_between_commas("--targets", job.targets);
  for (const std::string& note : prepare(job)) standard_output(0).line(note);
  return print_summary(job.out);
}

ExitCode prepare_fields_command(const PrepareFields& job) {
  require_start({}, job.out);
  prepare(job);
  return print_summary(job.out);
}

ExitCode prepare_images_command(PrepareImages job, const std::string& size) {
  require_start({}, job.out);
  if (!job.classes_of.empty()) require_other_file(job.classes_of, job.out);
  if (!size.empty()) {
    const auto [height, width] = parse_image_size(size);
    job.height = height;
    job.width = width;
  }
  for (const std::string& note : prepare(job)) standard_output(0).line(note);
  print_channels(job.out);
  return print_summary(job.out);
}

ExitCode prepare_text_command(const PrepareText& job) {
  require_start({job.file, job.vocabulary}, job.out);
  prepare(job);
  return print_token_summary(job.out);
}

ExitCode prepare_tokens_command(const PrepareTokens& job) {
  require_start(job.files, job.out);
  prepare(job);
  return print_token_summary(job.out);
}

ExitCode prepare_stamp_command(const std::string& file) {
  require_one_rank();
  stamp(file);
  return holds_tokens(file) ? print_token_summary(file) : print_summary(file);
}

}  // namespace mylos::app
