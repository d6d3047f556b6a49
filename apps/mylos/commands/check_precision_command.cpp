// mylos check-precision FILE: reports the errors of a conversion to 16 bits for the numbers of a file.
#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "commands.hpp"
#include "commands/array_pieces.hpp"
#include "commands/open_model.hpp"
#include "launch/core_set.hpp"
#include "launch/shared_deck.hpp"
#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "launch/thread_count.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/checkpoint/file/describe.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/config/deck/deck_without_length.hpp"
#include "mylos/data/files/dataset.hpp"
#include "mylos/data/files/meaning/sample_meaning.hpp"
#include "mylos/data/run/data_paths.hpp"
#include "mylos/data/tokens/token_dataset.hpp"
#include "mylos/io/system/control_group.hpp"
#include "tables/precision_report.hpp"

namespace mylos::app {
namespace {

constexpr std::size_t longest_name = 300;  // that is printed; files may hold any

/// The number of threads of a command that starts Kokkos; this command does not need Kokkos.
int threads_of_command() {
  const CoreShare cores{.cores = static_cast<int>(bound_cores().count()), .ranks = 1, .quota = quota_cores()};
  return thread_count(0, std::getenv("OMP_NUM_THREADS"), cores, 1);
}

template <class T, class Read>
ConversionSafety safety_of(std::int64_t rows, std::int64_t columns, const Read& read) {
  ConversionSafety sum;
  for_each_piece<T>(
      rows, columns, threads_of_command(), read,
      [](std::span<const T> values) { return conversion_safety(values); },
      [&sum](const ConversionSafety& piece) { sum += piece; });
  return sum;
}

/// The scaling of a dataset's numbers in runs of a deck.
struct Scaling {
  std::string method;  // "standard"; "" = as they are stored
  std::string of;      // whose statistics these are
  Normalizer normalizer;
};

/// Uses the training data of the deck; `data` must be valid data for a run of the deck.
Scaling scaling_of(RankGroup& ranks, const std::string& deck_file, Dataset& data) {
  const Deck deck = read_shared_deck(ranks, deck_file, {}, read_deck_without_length);
  if (deck.options.data.arrays.given()) {
    fail_input(errors::data_mismatch,
               "{}{}: learns from arrays as they lie in files ([data.arrays]), and {} is a prepared file; "
               "leave out --deck",
               place_of(deck.places, {"data.arrays.inputs"}), deck_file, data.path());
  }
  Options options = deck.options;
  options.data.test.clear();
  options.data.augment = {};
  options.checkpoint.keep_best.clear();
  const std::unique_ptr<RunData> training = open_run_data(options, GroundTruth::optional, deck.places);
  const Dataset known(prepared_files(options.data.train).front(),
                      GroundTruth::optional);  // whose sizes are compared
  if (options.model.type == ModelType::gpt || known.features() != data.features()) {
    fail_input(errors::data_mismatch, "{}: has {} features per sample, {} of {} has {}", data.path(),
               data.features(), known.path(), deck_file, known.features());
  }
  if (data.task() == Task::regression && known.outputs() != data.outputs()) {
    fail_input(errors::data_mismatch, "{}: has {} targets per sample, {} of {} has {}", data.path(),
               data.outputs(), known.path(), deck_file, known.outputs());
  }
  static_cast<void>(match_columns(training->meaning(), data));
  return {.method = std::string(name_of(options.data.normalize)),
          .of = fmt::format("{}, which {} learns from", known.path(), deck_file),
          .normalizer = training->normalizer([](const std::string&) {})};
}

FilePrecision check_dataset(const Dataset& data, const Scaling& scaling) {
  FilePrecision file{.path = data.path(), .kind = "dataset", .normalize = scaling.method};
  const bool bytes = data.shape().input_type == DType::uint8;
  const auto values_of = [](float* values, std::int64_t rows, std::int64_t columns) {
    return std::span(values, static_cast<std::size_t>(rows * columns));
  };
  const auto read_inputs = [&](std::int64_t first, std::int64_t count, float* values) {
    if (bytes) {
      std::vector<std::uint8_t> stored(static_cast<std::size_t>(count * data.features()));
      data.read_inputs(first, count, stored.data());
      std::copy(stored.begin(), stored.end(), values);
    } else {
      data.read_inputs(first, count, values);
    }
    const std::span<float> read = values_of(values, count, data.features());
    scaling.normalizer.inputs.apply(read, read);
  };
  const std::string input_type(hdf5::name_in_files(data.shape().input_type));
  file.arrays.push_back(
      {"/inputs", input_type, safety_of<float>(data.samples(), data.features(), read_inputs)});
  if (data.task() == Task::regression) {
    const auto read_targets = [&](std::int64_t first, std::int64_t count, float* values) {
      data.read_targets(first, count, values);
      const std::span<float> read = values_of(values, count, data.outputs());
      scaling.normalizer.targets.apply(read, read);
    };
    file.arrays.push_back(
        {"/targets", "float32", safety_of<float>(data.samples(), data.outputs(), read_targets)});
  }
  if (data.task() == Task::classification) file.others.emplace_back("/labels");
  return file;
}

/// Nothing if it does not contain floating-point numbers.
std::optional<ConversionSafety> check_array(const hdf5::Dataset& array) {
  const auto read = [&](std::int64_t first, std::int64_t count, auto* values) {
    array.read(first, count, values);
  };
  if (array.type() == DType::fp32) return safety_of<float>(array.size(), 1, read);
  if (array.type() == DType::fp64) return safety_of<double>(array.size(), 1, read);
  return std::nullopt;
}

/// The arrays below the group, and their sums: over all of /model; in /optimizer by moment, the last part of
/// a name.
void check_group(const hdf5::File& stored, const std::string& group, const std::string& use,
                 FilePrecision& file) {
  for (const hdf5::Child& child : stored.children(group)) {
    const std::string path = group + "/" + child.name;
    if (child.kind == hdf5::ObjectKind::group) check_group(stored, path, use, file);
    if (child.kind != hdf5::ObjectKind::dataset) continue;
    const hdf5::Dataset array = stored.dataset(path);
    const std::optional<ConversionSafety> safety = check_array(array);
    if (!safety) {
      file.others.push_back(printable(path, longest_name));
      continue;
    }
    file.arrays.push_back({printable(path, longest_name), array.type_name(), *safety});
    const std::string name = use == "/model"
                                 ? "all of /model"
                                 : fmt::format("all {} of {}", printable(child.name, longest_name), use);
    auto sum = std::find_if(file.sums.begin(), file.sums.end(),
                            [&](const ArrayPrecision& other) { return other.path == name; });
    if (sum == file.sums.end()) sum = file.sums.insert(sum, {name, array.type_name(), {}});
    sum->safety += *safety;
  }
}

FilePrecision check_checkpoint(RankGroup& ranks, const std::string& path) {
  const CheckpointReader reader(ranks, path);  // whose digest is right
  const hdf5::File stored = hdf5::File::open(path);
  FilePrecision file{.path = path, .kind = "checkpoint"};
  for (const std::string group : {"/model", "/optimizer"}) {
    if (stored.exists(group)) check_group(stored, group, group, file);
  }
  return file;
}

/// Describes the checked numbers, before the results.
std::string note_on(const FilePrecision& file, const Scaling& scaling) {
  if (file.kind != "dataset") {
    return "In a checkpoint weights and moments are fp32 whatever precision.compute is; with "
           "precision.masters = \"none\" the weights have no more digits than compute has.";
  }
  if (scaling.method.empty()) {
    return "The numbers are judged as they are stored. A deck's data.normalize scales them before a network "
           "sees them: --deck DECK judges what it sees.";
  }
  return fmt::format(
      "The numbers are judged as data.normalize = \"{}\" scales them, by the statistics of {}.",
      scaling.method, scaling.of);
}

}  // namespace

ExitCode check_precision_command(const CheckPrecisionArguments& arguments) {
  RankGroup& ranks = ranks_of_start();
  if (ranks.size() > 1)
    fail_input(errors::wrong_rank_count, "mylos check-precision runs on one rank; start it without mpirun");
  const std::string path = checkpoint_file(ranks, {.path = arguments.file});
  const Output output = standard_output(0);
  const bool is_checkpoint = looks_like_checkpoint(path);
  const bool is_tokens = !is_checkpoint && holds_tokens(path);
  if (!arguments.deck.empty() && (is_checkpoint || is_tokens)) {
    fail_input(errors::arguments_conflict,
               "{}: holds {}; --deck is for datasets, whose numbers data.normalize scales", path,
               is_tokens ? "tokens" : "weights");
  }
  if (is_tokens) {
    const TokenDataset tokens(path);
    if (arguments.json) {
      output.line(precision_json({.path = path, .kind = "tokens", .others = {"/tokens"}}));
    } else {
      output.line(fmt::format("{}: {} tokens, which are whole numbers: there is nothing to check", path,
                              tokens.tokens()));
    }
    return ExitCode::done;
  }
  FilePrecision file;
  Scaling scaling;
  if (is_checkpoint) {
    file = check_checkpoint(ranks, path);
  } else {
    Dataset data(path, GroundTruth::optional);
    if (!arguments.deck.empty()) scaling = scaling_of(ranks, arguments.deck, data);
    file = check_dataset(data, scaling);
  }
  if (arguments.json) {
    output.line(precision_json(file));
    return ExitCode::done;
  }
  output.line(
      fmt::format("{}: {}\n{}\n\n{}", path, file.kind, note_on(file, scaling), precision_table(file)));
  if (arguments.histogram) output.line(precision_histograms(file));
  return ExitCode::done;
}

}  // namespace mylos::app
