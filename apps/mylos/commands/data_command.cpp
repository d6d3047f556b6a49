// mylos data DECK [section.key=value ...] [--picture FILE] [--sample N]: what the deck makes of its data
// files.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>

#include <algorithm>
#include <filesystem>

#include "commands.hpp"
#include "commands/data_speed.hpp"
#include "commands/replaced_file.hpp"
#include "commands/sample_panels.hpp"
#include "launch/runtime.hpp"
#include "launch/standard_output.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/config/deck/deck_without_length.hpp"
#include "mylos/data/arrays/array_store.hpp"
#include "mylos/data/files/concatenated_store.hpp"
#include "mylos/data/files/dataset.hpp"
#include "mylos/data/files/sample_store.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/data/run/data_paths.hpp"
#include "mylos/data/run/run_data.hpp"
#include "mylos/data/run/windows_of_steps.hpp"
#include "mylos/data/tokens/token_dataset.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "tables/data_report.hpp"

namespace mylos::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_channel = 200;  // that is printed; files may hold any

std::int64_t file_bytes(const std::string& path) {
  std::error_code failure;
  const auto bytes = fs::file_size(path, failure);
  return failure ? 0 : static_cast<std::int64_t>(bytes);
}

std::string use_of(const ArrayOptions& options, const std::string& path) {
  std::vector<std::string> uses;
  const auto add = [&](const std::vector<std::string>& paths, const char* use) {
    if (std::ranges::find(paths, path) != paths.end()) uses.emplace_back(use);
  };
  add(options.inputs, "input");
  add(options.targets, "target");
  add(options.constants, "constant");
  return fmt::format("{}", fmt::join(uses, ", "));
}

ArrayRow row_of(const ArrayReport& array, const ArrayOptions& options) {
  const hdf5::ArrayFacts& facts = array.facts;
  std::vector<std::string> shape;
  for (std::size_t i = 0; i < facts.dims.size(); ++i) {
    shape.push_back(fmt::format("{} {}{}", i < array.axes.size() ? printable(array.axes[i]) : "?",
                                facts.dims[i], facts.unlimited.at(i) ? "+" : ""));
  }
  std::string storage = facts.chunk.empty() ? "contiguous" : "chunks " + extents_text(facts.chunk);
  for (const std::string& filter : facts.filters) storage += ", " + printable(filter);
  return {.path = array.path,
          .use = use_of(options, array.path),
          .shape = fmt::format("{}", fmt::join(shape, ", ")),
          .type = fmt::format("{}{}", name_of(facts.type), facts.big_endian ? ", big-endian" : ""),
          .storage = std::move(storage),
          .bytes = facts.stored_bytes};
}

std::string files_of(const ArrayStore& store) {
  std::vector<FileRow> files;
  for (std::size_t i = 0; i < store.files().size(); ++i) {
    const std::string& path = store.files()[i];
    files.push_back({path, store.samples_of(static_cast<std::int64_t>(i)).count, file_bytes(path)});
  }
  return file_table(files);
}

std::string files_of(const std::vector<std::string>& prepared) {
  std::vector<FileRow> files;
  for (const std::string& path : prepared) files.push_back({path, Dataset(path).samples(), file_bytes(path)});
  return file_table(files);
}

/// Returns lines about coordinates, times, masks and missing values, as far as the files state them.
std::string where_they_lie(const ArrayStore& store) {
  std::string lines;
  for (const GridAxis& axis : store.axes()) {
    if (axis.values.empty()) continue;
    lines += fmt::format("axis {}{}: {} points from {:.6g} to {:.6g}{}\n", printable(axis.name),
                         axis.array.empty() ? "" : " of " + printable(axis.array), axis.values.size(),
                         axis.values.front(), axis.values.back(),
                         axis.units.empty() ? "" : " " + printable(axis.units));
  }
  if (const LevelStep step = store.level_step(); step.is_known())
    lines += fmt::format("levels: {} {} apart{}\n", step.length, printable(step.unit),
                         step.calendar.empty() ? "" : ", calendar " + step.calendar);
  for (const MaskSummary& mask : store.masks()) {
    lines += fmt::format("mask of {}: {} of {} numbers of a level count\n", printable(mask.array),
                         mask.counting, mask.numbers);
  }
  for (const auto& [array, fraction] : store.missing_fractions()) {
    lines += fraction > 0 ? fmt::format("missing in {}: {:.1f} % of the numbers at the levels of samples\n",
                                        printable(array), 100 * fraction)
                          : fmt::format("missing in {}: nothing\n", printable(array));
  }
  return lines;
}

std::string arrays_of(const ArrayStore& store) {
  std::vector<ArrayRow> rows;
  for (const ArrayReport& array : store.arrays()) rows.push_back(row_of(array, store.options()));
  return fmt::format("arrays of {}:\n{}{}", printable(store.files().front(), longest_channel),
                     array_table(rows), where_they_lie(store));
}

std::string arrays_of(const Dataset& store) {
  const hdf5::File file = hdf5::File::open(store.path());
  std::vector<ArrayRow> rows;
  const std::string truth = std::string("/") + name_of_truth(store.task());
  for (const std::string& path : {std::string("/inputs"), truth}) {
    if (!file.exists(path)) continue;
    const hdf5::Array array(file, path);
    ArrayRow row = row_of({path, {}, array.facts()}, {});
    row.use = path == "/inputs" ? "input" : "target";
    row.shape = extents_text(array.facts().dims);
    rows.push_back(std::move(row));
  }
  return array_table(rows);
}

/// Describes how windows become samples.
std::string windows_of(const ArrayStore& store) {
  const ArrayOptions& options = store.options();
  if (options.points_are_samples)
    return fmt::format("each of the {} points of the grid is a sample", extents_text(store.grid()));
  std::string text = fmt::format("windows of {} level{}", options.history, options.history == 1 ? "" : "s");
  if (!options.targets.empty())
    text += fmt::format(", targets {} level{} later{}", options.ahead, options.ahead == 1 ? "" : "s",
                        options.targets_are == TargetsAre::difference ? " as differences"
                        : options.has_differences()
                            ? fmt::format(", differences of {}", fmt::join(options.differences, ", "))
                            : "");
  if (options.every == 1) return text;
  return text + fmt::format(", a window begins every {} levels", options.every);
}

std::string sizes_of(const SampleStore& store, const std::vector<std::int64_t>& grid) {
  std::string text = fmt::format("a sample: {} inputs", store.features());
  if (grid.size() > 1) text += fmt::format(" ({})", extents_text(grid));
  if (store.task() == Task::classification) text += fmt::format(", 1 of {} classes", store.outputs());
  if (store.task() == Task::regression) text += fmt::format(", {} targets", store.outputs());
  return text + fmt::format("; {} a sample as it is read",
                            format_bytes(store.shape().input_bytes() + store.shape().truth_bytes()));
}

/// The statistics of the training samples, by channel on grids.
std::string statistics_of(const SampleStore& store, Split part, const std::vector<std::int64_t>& grid) {
  const auto table = [&](const ColumnStatistics& columns, const std::vector<std::string>& names,
                         const char* what) {
    const auto channels = grid.size() > 1 ? grid.back() : 0;
    const auto count = static_cast<std::int64_t>(columns.mean.size());
    const bool joins =
        !store.has_channel_statistics() && channels > 0 && count > channels && count % channels == 0;
    return fmt::format("{} of the {} training samples:\n{}", what, part.count,
                       channel_table(names, joins ? channel_statistics(columns, channels) : columns));
  };
  std::string text = table(store.input_statistics(part), store.input_names(), "inputs");
  if (store.task() == Task::regression)
    text += '\n' + table(store.target_statistics(part), store.target_names(), "targets");
  return text;
}

void require_picture_name(const DataArguments& arguments, const Options& options) {
  const std::string& picture = arguments.picture;
  if (picture.empty()) {
    if (arguments.sample != 0)
      fail_input(errors::arguments_conflict,
                 "--sample chooses what --picture draws; give --picture FILE too");
    return;
  }
  if (!picture.ends_with(".png") && !picture.ends_with(".svg")) {
    fail_input(errors::bad_argument,
               "--picture {}: the name must end in .svg (panels with titles and ranges) or .png",
               printable(picture));
  }
  for (const std::string& name : {arguments.deck, options.run.initial}) {
    std::error_code failure;
    if (!name.empty() && fs::exists(name, failure)) require_other_file(name, picture);
  }
  require_replaceable(picture, OutputKind::other);
}

/// What the command prints of one kind of store.
class DataDescriptionOf {
 public:
  DataDescriptionOf(const DataArguments& arguments, const Deck& deck, const Output& output)
      : arguments_(arguments), options_(deck.options), output_(output) {}

  void arrays(const ArrayStore& train, const ArrayStore* test) {
    output_.line(fmt::format("training data: {} samples, {}\n{}", train.samples(), windows_of(train),
                             files_of(train)));
    if (test != nullptr)
      output_.line(fmt::format("test data: {} samples\n{}", test->samples(), files_of(*test)));
    output_.line(arrays_of(train));
    if (options_.rollout.steps > 1) rollouts(train);
    samples(train, train.grid());
  }

  void prepared(const std::vector<std::string>& train, const std::vector<std::string>& test) {
    output_.line("training data:\n" + files_of(train));
    if (!test.empty()) output_.line("test data:\n" + files_of(test));
    const Dataset first(train.front());
    output_.line(
        fmt::format("arrays of {}:\n{}", printable(first.path(), longest_channel), arrays_of(first)));
    const std::vector<std::int64_t> grid = options_.data.shape.empty() ? first.grid() : options_.data.shape;
    if (train.size() == 1) {
      samples(first, grid);
    } else {
      samples(ConcatenatedStore(train, options_.data.train.text(), GroundTruth::required), grid);
    }
  }

 private:
  void rollouts(const ArrayStore& train) {
    const DataOptions& data = options_.data;
    const auto several = open_array_store(data.train.names, data.arrays, options_.rollout.steps);
    const Split part = split_samples(train.samples(), data.validation).train;
    output_.line(fmt::format("training through {} steps: {} windows that have them all",
                             options_.rollout.steps, windows_of_all_steps(*several, train, part).count));
  }

  void samples(const SampleStore& train, const std::vector<std::int64_t>& grid) {
    const Splits splits = split_samples(train.samples(), options_.data.validation);
    if (splits.validation.count > 0)
      output_.line(fmt::format("the last {} training samples are for validation", splits.validation.count));
    output_.line(sizes_of(train, grid) + '\n');
    if (!arguments_.picture.empty() && arguments_.sample >= train.samples())
      fail_input(errors::bad_argument, "--sample {}: {} has the samples 0 to {}", arguments_.sample,
                 train.path(), train.samples() - 1);
    const ReadingSpeed speed = measure_reading(train, splits.train);  // before the pass for statistics
    output_.line(statistics_of(train, splits.train, grid));
    output_.line(describe_reading(speed, train, splits.train, options_));
    if (arguments_.picture.empty()) return;
    output_.line(write_sample_picture(train, grid, arguments_.sample, arguments_.picture));
  }

  const DataArguments& arguments_;
  const Options& options_;
  const Output& output_;
};

void describe_tokens(const TokenDataset& tokens, const Options& options, const Output& output) {
  output.line(fmt::format("{}: {} tokens below {}, {}; {} windows of {} in an epoch", tokens.path(),
                          tokens.tokens(), tokens.vocabulary().size(),
                          format_bytes(file_bytes(tokens.path())),
                          (tokens.tokens() - 1) / options.model.context, options.model.context));
}

}  // namespace

ExitCode data_command(const DataArguments& arguments) {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > 1) fail_input(errors::wrong_rank_count, "mylos data runs on one rank; start it without mpirun");
  const Deck deck =
      read_deck_without_length(read_deck_file(arguments.deck), arguments.deck, arguments.overrides);
  Options options = deck.options;
  require_picture_name(arguments, options);
  const KokkosRuntime kokkos(options.run.threads);
  const Output output = standard_output(0);
  {
    // Opened as a run opens them, so that what a run would refuse is refused here.
    const std::unique_ptr<RunData> data = open_run_data(options, GroundTruth::required, deck.places);
    data->complete(options.model);
    for (const std::string& note : data->notes()) output.line(note);
    if (data->vocabulary()) {
      if (!arguments.picture.empty())
        fail_input(errors::arguments_conflict, "{}: holds tokens, of which there is no picture",
                   data->path());
      describe_tokens(TokenDataset(data->path()), options, output);
      return ExitCode::done;
    }
  }
  DataDescriptionOf description(arguments, deck, output);
  const DataOptions& files = options.data;
  if (files.arrays.given()) {
    const auto train = open_array_store(files.train.names, files.arrays);
    const auto test = files.test.empty() ? nullptr : open_array_store(files.test.names, files.arrays);
    description.arrays(*train, test.get());
    return ExitCode::done;
  }
  description.prepared(prepared_files(files.train),
                       files.test.empty() ? std::vector<std::string>() : prepared_files(files.test));
  return ExitCode::done;
}

}  // namespace mylos::app
