// mylos prepare idx|images|csv|text|tokens ... --out FILE, prepare stamp FILE
#include <fmt/format.h>

#include "commands.hpp"
#include "commands/prediction_file.hpp"
#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/data/files/dataset.hpp"
#include "mylos/data/files/normalizer.hpp"
#include "mylos/data/prepare/prepare_csv.hpp"
#include "mylos/data/prepare/prepare_fields.hpp"
#include "mylos/data/prepare/prepare_idx.hpp"
#include "mylos/data/prepare/prepare_images.hpp"
#include "mylos/data/prepare/prepare_text.hpp"
#include "mylos/data/prepare/prepare_tokens.hpp"
#include "mylos/data/tokens/stamp.hpp"
#include "mylos/data/tokens/token_dataset.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos::app {
namespace {

void require_one_rank() {
  if (size_of_start() > 1)
    fail_input(ErrorId::wrong_rank_count, "mylos prepare runs on one rank; start it without mpirun");
}

/// On one rank, into a file of its own that is called as one of HDF5.
void require_start(const std::vector<std::string>& inputs, const std::string& output) {
  require_one_rank();
  for (const std::string& input : inputs) require_other_file(input, output);
  require_hdf5_name(output);
}

/// Of what stands between commas outside double quotes.
std::vector<std::string> names_between_commas(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words) {
    std::string name;
    bool is_quoted = false;
    std::size_t opened = 0;
    for (std::size_t i = 0; i <= word.size(); ++i) {
      if (i == word.size() || (word[i] == ',' && !is_quoted)) {
        if (name.empty())
          fail_input(ErrorId::bad_argument, "--targets: has an empty name; expected columns, a,b,c");
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
      fail_input(ErrorId::bad_argument, "--targets: the quote before '{}' is not closed",
                 printable(word.substr(opened + 1)));
  }
  return names;
}

std::string answers_of(const Dataset& data) {
  if (data.task() == Task::none) return "no labels or targets: for `mylos predict`";
  return fmt::format("{} {}", data.outputs(), data.task() == Task::classification ? "classes" : "targets");
}

ExitCode print_summary(const std::string& path) {
  const Dataset data(path, Answers::optional);
  standard_output(0).line(fmt::format("{}: {} samples of {} features, {}", path, data.samples(),
                                      data.features(), answers_of(data)));
  return ExitCode::done;
}

/// Of all samples; a run's data.normalize goes by its training samples.
void print_channels(const std::string& path) {
  const Dataset data(path, Answers::optional);
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

ExitCode prepare_idx_command(const PrepareIdxArguments& arguments) {
  require_start({arguments.images, arguments.labels}, arguments.output);
  prepare(PrepareIdx{.images = arguments.images,
                     .labels = arguments.labels,
                     .out = arguments.output,
                     .classes = arguments.classes});
  return print_summary(arguments.output);
}

ExitCode prepare_csv_command(const PrepareCsvArguments& arguments) {
  require_start({arguments.input}, arguments.output);
  PrepareCsv job{.file = arguments.input,
                 .targets = names_between_commas(arguments.targets),
                 .label = arguments.label,
                 .out = arguments.output,
                 .classes = arguments.classes};
  if (arguments.separator == "comma") job.separator = ',';
  if (arguments.separator == "semicolon") job.separator = ';';
  if (arguments.separator == "tab") job.separator = '\t';
  if (arguments.header || arguments.no_header) job.has_header = arguments.header;
  for (const std::string& note : prepare(job)) standard_output(0).line(note);
  return print_summary(arguments.output);
}

ExitCode prepare_fields_command(const PrepareFields& job) {
  require_start({}, job.out);
  prepare(job);
  return print_summary(job.out);
}

ExitCode prepare_images_command(const PrepareImagesArguments& arguments) {
  require_start({}, arguments.output);
  if (!arguments.classes_of.empty()) require_other_file(arguments.classes_of, arguments.output);
  PrepareImages job{.folder = arguments.folder,
                    .out = arguments.output,
                    .labelled = !arguments.unlabelled,
                    .classes_of = arguments.classes_of,
                    .channels = arguments.channels,
                    .on_corrupt = arguments.on_corrupt == "skip" ? OnCorrupt::skip : OnCorrupt::fail};
  if (!arguments.size.empty()) {
    const ImageSize size = parse_image_size(arguments.size);
    job.height = size.height;
    job.width = size.width;
  }
  for (const std::string& note : prepare(job)) standard_output(0).line(note);
  print_channels(arguments.output);
  return print_summary(arguments.output);
}

ExitCode prepare_text_command(const PrepareTextArguments& arguments) {
  require_start({arguments.input, arguments.vocabulary}, arguments.output);
  prepare(PrepareText{.file = arguments.input,
                      .level = arguments.level == "bytes" ? TokenKind::bytes : TokenKind::characters,
                      .out = arguments.output,
                      .vocabulary = arguments.vocabulary});
  return print_token_summary(arguments.output);
}

ExitCode prepare_tokens_command(const PrepareTokensArguments& arguments) {
  require_start(arguments.inputs, arguments.output);
  PrepareTokens job{.files = arguments.inputs,
                    .type = std::nullopt,
                    .vocabulary = arguments.vocabulary,
                    .out = arguments.output};
  if (!arguments.type.empty()) {
    job.type = arguments.type == "uint32" ? DType::uint32 : DType::uint16;
  }
  prepare(job);
  return print_token_summary(arguments.output);
}

ExitCode prepare_stamp_command(const std::string& file) {
  require_one_rank();
  stamp(file);
  return holds_tokens(file) ? print_token_summary(file) : print_summary(file);
}

}  // namespace mylos::app
