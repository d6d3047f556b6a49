// [run] and [data].
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "mylos/base/device/threads.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/sections.hpp"

namespace mylos {
namespace {

ValueType<std::int64_t> walltime_type() {
  return or_none<std::int64_t>({"time \"HH:MM:SS\" above 0",
                                "a ",
                                {},
                                [](std::int64_t& target, const Value& value) -> Found {
                                  const auto* text = std::get_if<std::string>(&value.held);
                                  const auto seconds = text == nullptr ? std::nullopt : parse_walltime(*text);
                                  if (!seconds || *seconds == 0) return describe(value);
                                  target = *seconds;
                                  return std::nullopt;
                                },
                                [](const std::int64_t& seconds) {
                                  return std::optional(Value{fmt::format("{:02}:{:02}:{:02}", seconds / 3600,
                                                                         seconds / 60 % 60, seconds % 60)});
                                }});
}

/// A path or pattern, or a list of them.
ValueType<DataFiles> files_type() {
  const auto one = text_type(is_path, "path");
  const auto several =
      list_type(one, {.text = "path or pattern (1 to 4096 bytes, no control characters), or a list of them",
                      .min = 1,
                      .max = max_files,
                      .distinct = true});
  return or_none<DataFiles>(
      {several.text,
       "a ",
       {},
       [one, several](DataFiles& files, const Value& value) -> Found {
         std::vector<std::string> names(1);
         const bool is_list = std::holds_alternative<Value::List>(value.held);
         if (Found found = is_list ? several.read(names, value) : one.read(names.front(), value))
           return found;
         files.names = std::move(names);
         return std::nullopt;
       },
       [one, several](const DataFiles& files) {
         return files.names.size() == 1 ? one.write(files.names.front()) : several.write(files.names);
       }});
}

std::string quoted_measures() {
  std::string text;
  for (const MeasureTraits& measure : measure_traits)
    text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", measure.name);
  return text;
}

}  // namespace

/// Reads a list of distinct measures, at most one of them a rollout.
Found read_metrics(Options& options, const Value& value) {
  const auto* list = std::get_if<Value::List>(&value.held);
  if (list == nullptr) return describe(value);
  std::vector<Measure> measures;
  std::int64_t rollout_steps = 0;
  for (const Value& element : *list) {
    const auto* word = std::get_if<std::string>(&element.held);
    const std::string what = describe(element);
    if (word == nullptr) return what + " in the list";
    const auto named = std::find_if(all_measures.begin(), all_measures.end(),
                                    [&](Measure measure) { return *word == name_of(measure); });
    const std::int64_t steps = rollout_steps_of(*word);
    if (named == all_measures.end() && steps == 0) return what + " in the list";
    const bool is_known =
        steps > 0 ? rollout_steps > 0 : std::find(measures.begin(), measures.end(), *named) != measures.end();
    if (is_known) return what + (steps > 0 ? " as a second rollout in the list" : " twice in the list");
    if (steps > 0) {
      rollout_steps = steps;
    } else {
      measures.push_back(*named);
    }
  }
  options.run.metrics = std::move(measures);
  options.run.rollout_steps = rollout_steps;
  return std::nullopt;
}

std::optional<Value> write_metrics(const Options& options) {
  Value::List list;
  for (const Measure measure : options.run.metrics) list.push_back(Value{std::string(name_of(measure))});
  if (options.run.rollout_steps > 0)
    list.push_back(Value{fmt::format("rollout{}", options.run.rollout_steps)});
  return list.empty() ? std::nullopt : std::optional(Value{std::move(list)});
}

void add_run_keys(Schema& schema) {
  Keys keys(
      schema, "run", "The run's name, length and reports.",
      [](auto& options) -> auto& { return options.run; });
  keys.text("name", &RunOptions::name, is_name,
            "name (1 to 100 bytes; no '/', no control characters, not '.' or '..')", "The name of this run.");
  keys.text("folder", &RunOptions::folder, is_path, "path (1 to 4096 bytes, no control characters)",
            "The folder to which the run writes: resolved deck, history, checkpoints.")
      .by_default("\"runs/<name>\"");
  keys.text("initial", &RunOptions::initial, is_path, "path (1 to 4096 bytes, no control characters)",
            "Run folder (its newest checkpoint), checkpoint, exported model (FILE.h5) or safetensors file "
            "from which the run's weights are initialised, as set in [initial]. Only weights are taken; "
            "optimizer, loss scale and schedule start anew. A run that "
            "resumes from its own checkpoint (--restart) ignores this key. `docs/how-to/initial.md`.");
  keys.integer("seed", &RunOptions::seed, {0, max_seed}, "",
               "Key of all random numbers: initial weights, order of the samples, dropout.");
  keys.optional_integer("epochs", &RunOptions::epochs, {1, max_epochs}, "passes over the training data",
                        "Length of the run. Give exactly one of `epochs` and `steps`.");
  keys.optional_integer("steps", &RunOptions::steps, {1, max_count}, "steps",
                        "Length of the run, including skipped steps.");
  keys.boolean("reproducible", &RunOptions::reproducible,
               "Gives bitwise equal weights, losses and metrics on every number of ranks that is a power of "
               "two and divides the number of micro-batches of a step, with the same number of threads per "
               "rank: a fixed tree sums the micro-batches. Requires that `data.micro_batch` divides "
               "`data.batch` and that gradients are fp32.");
  keys.integer("threads", &RunOptions::threads, {0, max_threads}, "threads per rank",
               "0: the value of OMP_NUM_THREADS, otherwise the cores that this rank may use, divided by the "
               "number of ranks that share them. Kokkos supports no more than the upper limit.");
  keys.integer("evaluate_every", &RunOptions::evaluate_every, {0, max_count}, "steps",
               "Interval between evaluations of the validation data and the test data. 0: after each epoch.");
  Key& metrics = keys.add(
      "metrics", "list of words from " + quoted_measures() + " and \"rolloutN\" (N steps: \"rollout20\")",
      "a ",
      "Metrics of evaluations besides loss and accuracy (`docs/reference/metrics.md`). For model.loss = "
      "\"cross_entropy\": top5, the fraction of samples whose label is among the five largest outputs, "
      "and confusion, the number of samples of each class that were predicted as each class "
      "(`confusion.json`). For a regression: r2, 1 - squared errors / squared deviations, the mean over "
      "targets; relative_l2 and relative_h1, the norms of a sample's error divided by that of its targets, "
      "as the losses of these names but in the units of the targets. For model.loss = \"gaussian\": crps, "
      "the "
      "continuous ranked probability score in the units of the targets. For [data.arrays]: rolloutN, the "
      "nRMSE "
      "of rollouts of N steps from the test data, the mean over the steps.");
  metrics.read = read_metrics;
  metrics.write = write_metrics;
  keys.finish(metrics);
  keys.integer("patience", &RunOptions::patience, {0, max_count}, "evaluations",
               "The run ends (exit code 0) after this number of evaluations without improvement, by the "
               "metric of `checkpoint.keep_best`, otherwise by the loss of the validation data, otherwise by "
               "that of the test data. 0: no early end.");
  keys.integer("log_every", &RunOptions::log_every, {1, max_count}, "steps",
               "Interval between printed progress lines. `history.csv` has every step regardless.");
  keys.add("walltime", &RunOptions::walltime_s, walltime_type(),
           "Time limit of the job, from the start of the program. Before the limit the run writes a "
           "checkpoint and stops (exit code 85).")
      .takes_any_text = true;
  keys.number(
      "peak_flops", &RunOptions::peak_flops, {0, true, 1e21, true}, "FLOP/s of a rank",
      "The peak rate to which the run's speed is compared (`docs/reference/metrics.md`). 0: measured at the "
      "start, with a GEMM that all ranks compute at the same time.");
}

const std::vector<std::string>& data_keys_of(ModelType type) {
  static const std::vector<std::string> samples{"normalize", "shuffle", "last_batch", "fill", "statistics"};
  static const std::vector<std::string> grids{"normalize", "shuffle",    "last_batch",
                                              "shape",     "statistics", "fill"};
  static const std::vector<std::string> tokens{"window"};
  if (type == ModelType::gpt) return tokens;
  return type == ModelType::mlp ? samples : grids;
}

void add_data_keys(Schema& schema) {
  Keys keys(
      schema, "data", "The sources of samples and the composition of batches.",
      [](auto& options) -> auto& { return options.data; });
  const auto files = [&](const char* name, auto field, const char* meaning) {
    Key& key = keys.add(name, field, files_type(), meaning);
    key.takes_any_text = true;
    key.takes_lists = true;
  };
  files(
      "train", &DataOptions::train,
      "HDF5 file with the training samples, as written by `mylos prepare`. The path is relative to the "
      "working directory. A pattern, in which `*`, `?` and `[0-7]` stand for parts of names, means all files "
      "that match it. The samples of several files, of patterns or lists, follow each other in the order of "
      "the files' names. With [data.arrays]: HDF5 or NetCDF-4 files with these arrays.");
  files("test", &DataOptions::test, "Files with the test samples, likewise.");
  keys.number("validation", &DataOptions::validation, {0, true, 1, false}, "",
              "Fraction of the training samples, taken from their end, that is held out for validation.");
  keys.integer("batch", &DataOptions::batch, {1, max_count}, "samples",
               "Samples per step, over all ranks together.");
  keys.integer("micro_batch", &DataOptions::micro_batch, {0, max_count}, "samples",
               "Maximum number of samples that a rank processes at once. A larger local batch is divided "
               "into micro-batches whose gradients are added. 0: the complete local batch.");
  keys.choice(
      "normalize", &DataOptions::normalize,
      Words<Normalize>{{"none", Normalize::none},
                       {"standard", Normalize::standard},
                       {"channel", Normalize::channel},
                       {"minmax", Normalize::minmax}},
      "Normalisation of inputs (and of the targets of a regression) by the statistics of the "
      "training samples, without those held out for validation. standard: each column to mean 0 and "
      "standard deviation 1. minmax: each column to the range from 0 to 1. channel: for samples on a "
      "grid, each channel over all points to mean 0 and standard deviation 1; also for targets if "
      "the network's outputs lie on the grid, otherwise targets as with standard. Of [data.arrays] the "
      "columns are the arrays' channels, over all points and levels.");
  keys.choice("shuffle", &DataOptions::shuffle,
              Words<Shuffle>{{"samples", Shuffle::samples}, {"blocks", Shuffle::blocks}},
              "Labelled samples: order of an epoch. samples: all samples shuffled; blocks: blocks of "
              "adjacent samples shuffled (for data larger than memory).");
  keys.choice(
      "last_batch", &DataOptions::last_batch,
      Words<LastBatch>{{"drop", LastBatch::drop}, {"join", LastBatch::join}},
      "Labelled samples: use of an incomplete batch at the end of an epoch. drop: its samples are "
      "dropped; join: it is filled with the first samples of the next epoch. No batch is shorter: its "
      "samples would have a larger weight than others in their update.");
  keys.choice(
      "window", &DataOptions::window,
      Words<WindowOrder>{{"random", WindowOrder::random}, {"sequential", WindowOrder::sequential}},
      "Token data: start positions of the windows of a batch. random: anywhere; sequential: consecutive "
      "windows in file order. An epoch is the number of consecutive windows in the data.");
  keys.add(
      "shape", &DataOptions::shape,
      or_none(list_type(
          integer_type({1, max_features}),
          {.text = fmt::format("list of 2 to 4 integers from 1 to {}", max_features), .min = 2, .max = 4})),
      "chain, cnn, resnet, unet, fno, vit: the grid of a sample, its extents followed by the channels: "
      "[28, 28, 1]. Default: the grid in files of `mylos prepare idx`, `images` and `fields`, or of the "
      "arrays.");
  Key& fill = keys.add("fill", "number", "",
                       "NaN and fill values (`_FillValue`, `missing_value`) in arrays. error: they are "
                       "refused, with file, array and index; a number replaces them.");
  Key& statistics = keys.add(
      "statistics", "path (1 to 4096 bytes, no control characters)", "a ",
      "File that keeps the statistics of arrays between runs. It is written where it does not exist, "
      "and computed anew for other contents. The checkpoint has the statistics in any case.");
  add_keys_of_array_files(fill, statistics);
  keys.only_with({"fill", "statistics"}, with_given("data.arrays.inputs"));
  keys.limit_to_types(data_keys_of);
  keys.only_with({"test", "validation", "normalize", "shuffle", "last_batch", "window"},
                 with_given("data.train"));
}

}  // namespace mylos
