// [run] and [data].
#include "mylos/base/device/threads.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/sections.hpp"

namespace mylos {
namespace {

void add_shape(Key& key) {
  key.read = [](Options& options, const Value& value) -> std::optional<std::string> {
    const auto* list = std::get_if<Value::List>(&value.held);
    if (list == nullptr) return describe(value);
    if (list->size() < 2 || list->size() > 4) return fmt::format("a list of {}", list->size());
    std::vector<std::int64_t> shape;
    for (const Value& number : *list) {
      const auto* extent = std::get_if<std::int64_t>(&number.held);
      if (extent == nullptr || *extent < 1 || *extent > max_features)
        return fmt::format("{} at place {}", describe(number), shape.size() + 1);
      shape.push_back(*extent);
    }
    options.data.shape = std::move(shape);
    return std::nullopt;
  };
  key.write = [](const Options& options) -> std::optional<Value> {
    if (options.data.shape.empty()) return std::nullopt;
    Value::List list;
    for (const std::int64_t extent : options.data.shape) list.push_back({extent});
    return Value{std::move(list)};
  };
  key.default_text = "none";
}

void fill_metrics(Key& key) {
  key.read = [](Options& options, const Value& value) -> std::optional<std::string> {
    const auto* list = std::get_if<Value::List>(&value.held);
    if (list == nullptr) return describe(value);
    std::vector<Measure> measures;
    for (const Value& element : *list) {
      const auto* word = std::get_if<std::string>(&element.held);
      const auto found = std::find_if(std::begin(all_measures), std::end(all_measures), [&](Measure measure) {
        return word != nullptr && *word == name_of(measure);
      });
      if (found == std::end(all_measures)) return describe(element) + " in the list";
      if (std::find(measures.begin(), measures.end(), *found) != measures.end())
        return fmt::format("{} twice in the list", describe(element));
      measures.push_back(*found);
    }
    options.run.metrics = std::move(measures);
    return std::nullopt;
  };
  key.write = [](const Options& options) -> std::optional<Value> {
    if (options.run.metrics.empty()) return std::nullopt;
    Value::List list;
    for (const Measure measure : options.run.metrics) list.push_back({std::string(name_of(measure))});
    return Value{std::move(list)};
  };
  key.default_text = "none";
}

void fill_walltime(Key& key) {
  key.read = [](Options& options, const Value& value) -> std::optional<std::string> {
    const auto* text = std::get_if<std::string>(&value.held);
    const auto seconds = text == nullptr ? std::nullopt : parse_walltime(*text);
    if (!seconds || *seconds == 0) return describe(value);
    options.run.walltime_s = *seconds;
    return std::nullopt;
  };
  key.write = [](const Options& options) -> std::optional<Value> {
    const std::int64_t seconds = options.run.walltime_s;
    if (seconds == 0) return std::nullopt;
    return Value{fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)};
  };
  key.default_text = "none";
}

}  // namespace

void add_run_keys(Schema& schema) {
  Keys keys(
      schema, "run", "The run's name, length and reports.",
      [](auto& options) -> auto& { return options.run; });
  keys.text("name", &RunOptions::name, is_name,
            "name (1 to 100 bytes; no '/', no control characters, not '.' or '..')", "\"run\"",
            "What this run is called.");
  keys.text("folder", &RunOptions::folder, is_path, "path (1 to 4096 bytes, no control characters)",
            "\"runs/<name>\"", "Where the run writes: resolved deck, history, checkpoints.");
  keys.text("initial", &RunOptions::initial, is_path, "path (1 to 4096 bytes, no control characters)", "none",
            "Checkpoint (a file) or safetensors file whose weights the run begins with, as [initial] says: "
            "weights alone, optimizer, loss scale and schedule begin afresh. A run that goes on from a "
            "checkpoint of its own (--restart) takes that. `docs/initial.md`.");
  keys.integer("seed", &RunOptions::seed, {0, max_seed}, "",
               "Key of all random numbers: initial weights, order of the samples, dropout.");
  keys.optional_integer("epochs", &RunOptions::epochs, {1, max_epochs}, "passes over the training data",
                        "Length of the run. Exactly one of `epochs` and `steps` is given.");
  keys.optional_integer("steps", &RunOptions::steps, {1, largest_count}, "steps",
                        "Length of the run, counting skipped steps too.");
  keys.boolean(
      "reproducible", &RunOptions::reproducible,
      "The same weights, losses and metrics bit for bit on every number of ranks that is a power of two "
      "and divides the micro-batches of a step, with the same threads per rank: micro-batches are added "
      "up by one fixed tree. `data.micro_batch` divides `data.batch` then, and gradients are floats.");
  keys.integer(
      "threads", &RunOptions::threads, {0, max_threads}, "threads per rank",
      "0: as OMP_NUM_THREADS says, else the cores that this rank may use, divided by the ranks that share "
      "them. Kokkos takes no more than the limit.");
  keys.integer(
      "evaluate_every", &RunOptions::evaluate_every, {0, largest_count}, "steps",
      "How often the validation and the test data are evaluated, both where there are both. 0: after "
      "each epoch.");
  Key& metrics = keys.add(
      "metrics", "list of words from \"top5\", \"confusion\" and \"r2\"", "a ",
      "What evaluations measure beside loss and accuracy (`docs/metrics.md`): top5, the share of samples "
      "whose label is among the five largest outputs, and confusion, how many of each class were taken for "
      "each (`confusion.json`), for model.loss = \"cross_entropy\"; r2, 1 - squared errors / squared "
      "deviations, the mean over targets, for a regression.");
  fill_metrics(metrics);
  keys.integer(
      "patience", &RunOptions::patience, {0, largest_count}, "evaluations",
      "The run ends (exit code 0) after so many evaluations that were no better than the best before "
      "them, by the metric of `checkpoint.keep_best`, else by the loss of the validation data, else by "
      "that of the test data. 0: it does not.");
  keys.integer("log_every", &RunOptions::log_every, {1, largest_count}, "steps",
               "How often a progress line is printed. `history.csv` has every step, whatever this is.");
  Key& walltime = keys.add("walltime", "time \"HH:MM:SS\" above 0", "a ",
                           "How long the job may take, from the start of the program. Before it is over the "
                           "run writes a checkpoint and stops (exit code 85).");
  walltime.takes_any_text = true;
  fill_walltime(walltime);
  keys.number(
      "peak_flops", &RunOptions::peak_flops, {0, true, 1e21, true}, "FLOP/s of a rank",
      "What the run's speed is a share of (`docs/metrics.md`). 0: measured at the start, by a product "
      "that all ranks compute at the same time.");
}

const std::vector<std::string>& data_keys_of(ModelType type) {
  static const std::vector<std::string> samples{"normalize", "shuffle", "last_batch"};
  static const std::vector<std::string> grids{"normalize", "shuffle", "last_batch", "shape"};
  static const std::vector<std::string> tokens{"window"};
  if (type == ModelType::gpt) return tokens;
  return type == ModelType::mlp ? samples : grids;
}

void add_data_keys(Schema& schema) {
  Keys keys(
      schema, "data", "Where samples come from and how a batch is made of them.",
      [](auto& options) -> auto& { return options.data; });
  const std::string file = "path (1 to 4096 bytes, no control characters)";
  keys.text("train", &DataOptions::train, is_path, file, "none",
            "HDF5 file with the training samples, as `mylos prepare` writes it. Relative to the working "
            "directory.");
  keys.text("test", &DataOptions::test, is_path, file, "none", "HDF5 file with the test samples.");
  keys.number("validation", &DataOptions::validation, {0, true, 1, false}, "",
              "Fraction of the training samples, taken from their end, that is held out for validation.");
  keys.integer("batch", &DataOptions::batch, {1, largest_count}, "samples",
               "Samples per step, over all ranks together.");
  keys.integer(
      "micro_batch", &DataOptions::micro_batch, {0, largest_count}, "samples",
      "Most samples that a rank holds at once; a larger share is taken in pieces whose gradients are "
      "added. 0: its whole share.");
  keys.choice(
      "normalize", &DataOptions::normalize,
      Words<Normalize>{{"none", Normalize::none},
                       {"standard", Normalize::standard},
                       {"channel", Normalize::channel},
                       {"minmax", Normalize::minmax}},
      "Inputs (and the targets of a regression) to mean 0 and deviation 1, or to the range from 0 to 1, by "
      "the statistics of the training samples (without those held out for validation), column by column. "
      "channel: of samples on a grid, each channel over all points to mean 0 and deviation 1; so are the "
      "targets of a network that gives them on the grid, others go as by standard.");
  keys.choice(
      "shuffle", &DataOptions::shuffle,
      Words<Shuffle>{{"samples", Shuffle::samples}, {"blocks", Shuffle::blocks}},
      "Labelled samples: order of an epoch, all samples shuffled, or blocks of neighbours (for data larger "
      "than memory).");
  keys.choice(
      "last_batch", &DataOptions::last_batch,
      Words<LastBatch>{{"drop", LastBatch::drop}, {"join", LastBatch::join}},
      "Labelled samples: what becomes of those left at the end of an epoch when they fill no batch: dropped, "
      "or joined with the first of the next epoch.");
  keys.choice(
      "window", &DataOptions::window,
      Words<WindowOrder>{{"random", WindowOrder::random}, {"sequential", WindowOrder::sequential}},
      "Token data: where the windows of a batch begin, anywhere at random or one behind the other in the "
      "file's order. An epoch is as many windows as lie one behind the other.");
  Key& shape = keys.add(
      "shape", "list of 2 to 4 integers from 1 to 268435456", "a ",
      "chain, cnn, resnet, unet: the grid that a sample's numbers lie on, its extents and behind them "
      "the channels: [28, 28, 1]. From files of `mylos prepare idx`, `images` and `fields` where it is "
      "not given.");
  add_shape(shape);
  keys.limit_to_types(data_keys_of);
  keys.only_with({"test", "validation", "normalize", "shuffle", "last_batch", "window"},
                 with_given("data.train"));
}

}  // namespace mylos
