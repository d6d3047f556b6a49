#include "mylos/data/run/sample_data.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/numbers/grid_box.hpp"
#include "mylos/base/numbers/target_channels.hpp"
#include "mylos/data/feed/augmentation.hpp"
#include "mylos/data/feed/evaluation_reader.hpp"
#include "mylos/data/feed/loader.hpp"
#include "mylos/data/files/concatenated_store.hpp"
#include "mylos/data/files/scaling/normalizer_of_box.hpp"
#include "mylos/data/files/scaling/statistics.hpp"
#include "mylos/data/run/data_kinds.hpp"
#include "mylos/data/run/data_paths.hpp"
#include "mylos/data/run/open_boxes.hpp"
#include "mylos/data/run/sample_order.hpp"
#include "mylos/data/run/windows_of_steps.hpp"
#include "mylos/model/chain/grid_layers.hpp"

namespace mylos {
namespace {

/// Returns whether the network's outputs lie on the grid of its samples. The last layer that changes the kind
/// of data decides.
bool ends_on_grid(const ModelOptions& model) {
  if (model.type != ModelType::chain) return false;
  for (std::size_t i = model.chain.size(); i-- > 0;) {
    const LayerOptions& layer = model.chain[i];
    if (traits_of(layer.kind).gives_vector) return false;
    if (traits_of(layer.kind).needs_grid) return true;
    if (!std::holds_alternative<kinds::Branch>(layer.kind)) continue;
    while (i > 0 && layer_name(model.chain, i - 1) != layer.skip_from) --i;  // whose output it is
  }
  return true;  // no layer changes the kind of data
}

std::shared_ptr<SampleStore> open_prepared(const DataFiles& files, GroundTruth truth,
                                           std::vector<std::string>& notes) {
  const std::vector<std::string> paths = prepared_files(files);
  if (paths.size() == 1) return std::make_shared<Dataset>(paths.front(), truth);
  auto store = std::make_shared<ConcatenatedStore>(paths, files.text(), truth);
  notes.insert(notes.end(), store->notes().begin(), store->notes().end());
  return store;
}

class SampleData final : public RunData {
 public:
  SampleData(const Options& options, SampleStores stores, GroundTruth truth, const Places& places)
      : places_(places),
        normalize_(options.data.normalize),
        has_probabilities_(options.model.prediction() == Prediction::probabilities),
        ends_on_grid_(ends_on_grid(options.model)),
        whole_truth_(options.model.type == ModelType::chain && !ends_on_grid_),
        nonnegative_(options.model.nonnegative),
        augment_(options.data.augment),
        stores_(std::move(stores)),
        train_(*stores_.train),
        deck_grid_(options.data.shape),
        grid_(deck_grid_.empty() ? train_.grid() : deck_grid_),
        notes_(stores_.notes),
        splits_(split_samples(train_.samples(), options.data.validation)),
        training_(stores_.rollouts ? *stores_.rollouts : train_),
        training_split_(stores_.rollouts
                            ? windows_of_all_steps(*stores_.rollouts, *stores_.arrays, splits_.train)
                            : splits_.train),
        sampler_(order_of_samples(training_, training_split_.count, options)) {
    if (truth == GroundTruth::required)
      require_augmentable(augment_, training_.shape(), training_grid(), train_.path(), places_);
    if (stores_.test) {
      require_same_shape(train_, *stores_.test, deck_grid_);
      const std::vector<std::string> notes = match_columns(meaning(), *stores_.test);
      notes_.insert(notes_.end(), notes.begin(), notes.end());
      stores_.test->require_valid_values();
    }
    require_r2(options.checkpoint.keep_best);
  }

  [[nodiscard]] const std::string& path() const override { return train_.path(); }

  void complete(ModelOptions& model) const override {
    const auto set = [this](std::int64_t& value, std::int64_t of_data, const char* key) {
      if (value != 0 && value != of_data) {
        fail_input(errors::data_mismatch,
                   "{}: has {} {} per sample, but the deck has model.{} = {}; remove the key", path(),
                   of_data, key, key, value);
      }
      value = of_data;
    };
    set(model.inputs, train_.features(), "inputs");
    if (model.shape.empty()) model.shape = train_.grid();
    require_grid(model);
    if (train_.task() == Task::none) return;
    model.has_missing_targets = train_.missing().targets;
    set(model.outputs, train_.outputs(), "outputs");
    const bool classifies = train_.task() == Task::classification;
    if (classifies != (model.prediction() == Prediction::classes)) {
      const bool is_default = model.loss == ModelOptions().loss;
      fail_input(errors::data_mismatch,
                 "{} has {}, which model.loss = \"{}\"{} cannot learn; set model.loss = \"{}\"{}", path(),
                 classifies ? "class labels" : "targets", name_of(model.loss),
                 is_default ? " (its default)" : "", classifies ? "cross_entropy" : "mse",
                 classifies ? "" : ", or another loss of a regression");
    }
    if (model.has_missing_targets && !is_of_numbers(model.prediction())) {
      fail_input(errors::keys_conflict,
                 "{}data.arrays.missing: model.loss = \"{}\" counts all targets; use one of numbers: \"mse\"",
                 place_of(places_, {"data.arrays.missing"}), name_of(model.loss));
    }
    if (has_probabilities_) {
      require_probabilities(train_);
      if (stores_.test) require_probabilities(*stores_.test);
    }
  }

  [[nodiscard]] Epochs epochs() const override { return sampler_.epochs(); }
  [[nodiscard]] std::string identity(DataPart part) const override {
    if (part != DataPart::test) return train_.identity();
    return stores_.test ? stores_.test->identity() : "";
  }
  [[nodiscard]] Normalizer normalizer(const std::function<void(const std::string&)>& note,
                                      const GivenScalings& given) const override {
    Normalizer normalizer = normalizer_for(normalize_, train_, splits_.train, note, channels(), places_,
                                           !has_probabilities_, ends_on_grid_, given);
    keep_zero(normalizer.targets);
    return normalizer;
  }
  [[nodiscard]] Normalizer room_for_normalizer() const override {
    return mylos::room_for_normalizer(normalize_, train_, channels(), !has_probabilities_);
  }
  [[nodiscard]] std::int64_t normalizer_bytes() const override { return normalizer_bytes(train_.shape()); }
  [[nodiscard]] std::shared_ptr<const ArrayStore> arrays(DataPart part) const override {
    if (part != DataPart::test) return stores_.arrays;
    return std::dynamic_pointer_cast<const ArrayStore>(stores_.test);
  }
  [[nodiscard]] std::optional<RolloutLayout> rollout() const override {
    if (!stores_.arrays) return std::nullopt;
    return stores_.rollouts ? stores_.rollouts->rollout() : stores_.arrays->rollout();
  }
  [[nodiscard]] SampleMeaning meaning() const override { return meaning_of(train_, deck_grid_); }
  [[nodiscard]] SampleMask mask() const override { return train_.mask(); }
  [[nodiscard]] std::vector<std::string> target_arrays() const override {
    return stores_.arrays ? stores_.arrays->target_arrays() : std::vector<std::string>();
  }
  std::vector<std::string> match(const SampleMeaning& trained) override {
    require_same_meaning(trained, train_);
    boxes_.forget();
    return match_columns(trained, train_);
  }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }

  [[nodiscard]] bool has(DataPart part) const override {
    return part == DataPart::train || (part == DataPart::test && stores_.test) ||
           (part == DataPart::validation && splits_.validation.count > 0);
  }
  [[nodiscard]] std::int64_t samples(DataPart part) const override { return split_of(part).count; }

  [[nodiscard]] std::unique_ptr<BatchReader> training_batches(const Normalizer& normalizer,
                                                              const TrainingReader& reader) const override {
    return std::make_unique<Loader>(
        boxes_.ready(training_, reader.part, grid_), training_split_, sampler_,
        part_of(stores_.rollouts ? for_all_steps(normalizer, stores_.rollouts->rollout()) : normalizer,
                training_grid(), reader.part, whole_truth_),
        loading(reader));
  }
  [[nodiscard]] std::int64_t reader_bytes(const TrainingReader& reader) const override {
    const auto looked_at = boxes_.peek_at(training_, reader.part, grid_);
    const SampleStore& read = *looked_at;
    return Loader::memory_bytes(read.shape(), training_split_, sampler_, loading(reader)) +
           read.reading_bytes() + normalizer_bytes(read.shape());
  }
  [[nodiscard]] std::int64_t saved_by_blocks(const TrainingReader& reader) const override {
    SamplerOptions by_blocks = sampler_.options();
    if (by_blocks.shuffle != Shuffle::samples) return 0;
    by_blocks.shuffle = Shuffle::blocks;
    const auto looked_at = boxes_.peek_at(training_, reader.part, grid_);
    const DatasetShape& shape = looked_at->shape();
    const auto bytes = [&](const Sampler& sampler) {
      return Loader::memory_bytes(shape, training_split_, sampler, loading(reader));
    };
    return bytes(sampler_) - bytes(Sampler(by_blocks));
  }
  [[nodiscard]] std::unique_ptr<EvaluationPass> pass_over(DataPart part, const Normalizer& normalizer,
                                                          const EvaluationOptions& options) const override {
    EvaluationOptions reading = options;
    reading.whole_truth = whole_truth_;
    return std::make_unique<EvaluationReader>(
        boxes_.ready(store_of(part), options.part, grid_), split_of(part),
        part_of(normalizer, grid_, options.part, reading.whole_truth), reading);
  }
  [[nodiscard]] std::int64_t pass_bytes(DataPart part, const EvaluationOptions& options) const override {
    const auto looked_at = boxes_.peek_at(store_of(part), options.part, grid_);
    const SampleStore& data = *looked_at;
    const bool is_counted = &store_of(part) == &training_;  // by a reader
    const std::int64_t checking = is_counted ? 0 : data.reading_bytes();
    return EvaluationReader::memory_bytes(data.shape(), split_of(part), options) + checking +
           normalizer_bytes(data.shape());
  }

 private:
  [[nodiscard]] const SampleStore& store_of(DataPart part) const {
    return part == DataPart::test ? *stores_.test : train_;
  }
  [[nodiscard]] Split split_of(DataPart part) const {
    if (part == DataPart::test) return {0, stores_.test->samples()};
    return part == DataPart::train ? splits_.train : splits_.validation;
  }
  /// Returns the grid of the samples that training reads; they may have more channels than a network.
  [[nodiscard]] const std::vector<std::int64_t>& training_grid() const {
    return stores_.rollouts ? training_.grid() : grid_;
  }
  [[nodiscard]] std::int64_t channels() const { return grid_.empty() ? 0 : grid_.back(); }
  [[nodiscard]] LoaderOptions loading(const TrainingReader& reader) const {
    LoaderOptions options{reader.type,           reader.micro_batch, reader.rank,    reader.ranks,
                          reader.first_position, augment_,           training_grid()};
    if (!reader.part.is_split() || !augment_.any()) return options;
    // Within a box, whose points do not say whether targets lie on points.
    const std::vector<std::int64_t> extents(options.grid.begin(), options.grid.end() - 1);
    const GridBox box = box_of(reader.part, extents, path());
    if (options.augment.targets == AugmentTargets::automatic &&
        training_.shape().outputs % box.grid_points() != 0)
      options.augment.targets = AugmentTargets::keep;
    std::copy(box.count.end() - std::ssize(extents), box.count.end(), options.grid.begin());
    return options;
  }
  /// Returns the bytes of a reader's copy of the normalizer.
  [[nodiscard]] std::int64_t normalizer_bytes(const DatasetShape& shape) const {
    const bool scales_targets = !has_probabilities_ && shape.task == Task::regression;
    const bool has_mask = !train_.mask().inputs.empty();
    const std::int64_t inputs = normalize_ == Normalize::none && !has_mask ? 0 : shape.features;
    const std::int64_t scaled =
        inputs + (normalize_ != Normalize::none && scales_targets ? shape.outputs : 0);
    const std::int64_t in_range = grid_.empty() ? shape.features : channels();
    return 2 * (scaled + in_range) * static_cast<std::int64_t>(sizeof(double));
  }

  /// Leaves 0 where it is in targets that are at least 0.
  void keep_zero(ColumnScaling& targets) const {
    if (nonnegative_.empty() || targets.identity()) return;
    const std::vector<std::string>& names = train_.target_names();
    const auto count = static_cast<std::int64_t>(names.size());
    for (const std::int64_t channel : channels_of_targets("model.nonnegative", nonnegative_, names, count))
      for (auto i = static_cast<std::size_t>(channel); i < targets.shift.size(); i += names.size())
        targets.shift[i] = 0;
  }

  /// Refuses to select the best checkpoint by R2 if all targets are constant: R2 is then undefined, and no
  /// evaluation would be the best.
  void require_r2(const std::string& keep_best) const {
    const bool of_test = keep_best == "test.r2" && stores_.test;
    const bool of_validation = keep_best == "validation.r2" && splits_.validation.count > 0;
    if (train_.task() != Task::regression || (!of_test && !of_validation)) return;
    const DataPart part = of_test ? DataPart::test : DataPart::validation;
    const SampleStore& data = store_of(part);
    const ColumnStatistics of = data.target_statistics(split_of(part));
    for (std::size_t i = 0; i < of.mean.size(); ++i) {
      const double spread = of.deviation[i] * of.deviation[i];
      if (!are_constant(spread, spread + of.mean[i] * of.mean[i])) return;
    }
    fail_input(
        errors::not_measured,
        "{}checkpoint.keep_best = \"{}\": no target of the {} {} samples of {} varies, so that their R2 is "
        "undefined; use \"{}.loss\"",
        place_of(places_, {"checkpoint.keep_best"}), keep_best, split_of(part).count, name_of(part),
        data.path(), name_of(part));
  }

  /// Requires a grid if the network's first layer works on one; short forms have been expanded.
  void require_grid(const ModelOptions& model) const {
    const bool starts_on_one = model.type == ModelType::chain && !model.chain.empty() &&
                               traits_of(model.chain.front().kind).needs_grid;
    if (!model.shape.empty() || !starts_on_one) return;
    const std::string location = place_of(places_, {"model.layers.1", "model.type"});
    if (stores_.arrays) {
      fail_input(errors::data_mismatch,
                 "{}{}: its samples have no grid, which layer '{}' needs; data.arrays.axes names the axes of "
                 "one (\"time y x\"), and data.arrays.points_are_samples = false keeps it",
                 location, path(), layer_name(model.chain, 0));
    }
    fail_input(errors::missing_dataset,
               "{}{}: has no attribute 'shape' of /, the grid of its samples, which layer '{}' needs; {}",
               location, path(), layer_name(model.chain, 0), how_to_give_a_grid);
  }

  static void require_probabilities(const SampleStore& data) {
    if (data.task() != Task::regression) return;
    const ColumnStatistics of = data.target_statistics({0, data.samples()});
    for (std::size_t i = 0; i < of.minimum.size(); ++i) {
      if (of.minimum[i] >= 0 && of.maximum[i] <= 1) continue;
      fail_input(errors::data_mismatch,
                 "{}: target {} ranges from {} to {}; model.loss = \"binary_cross_entropy\" learns "
                 "probabilities, 0 to 1",
                 data.path(),
                 data.target_names().size() == of.minimum.size() ? printable(data.target_names()[i])
                                                                 : fmt::format("{} (counted from 0)", i),
                 of.minimum[i], of.maximum[i]);
    }
  }

  Places places_;  // of the deck
  Normalize normalize_;
  bool has_probabilities_;  // the targets are not normalised
  bool ends_on_grid_;
  bool whole_truth_;                      // of samples that are divided: the network's outputs are a vector
  std::vector<std::string> nonnegative_;  // targets that are only scaled
  AugmentOptions augment_;
  SampleStores stores_;
  SampleStore& train_;
  std::vector<std::int64_t> deck_grid_;
  std::vector<std::int64_t> grid_;  // of a sample: extents, then channels; empty if not known
  std::vector<std::string> notes_;
  Splits splits_;
  const SampleStore& training_;  // in the order of the sampler
  Split training_split_;
  Sampler sampler_;
  OpenBoxes boxes_{whole_truth_};
};

}  // namespace

std::unique_ptr<RunData> sample_data(const Options& options, SampleStores stores, GroundTruth truth,
                                     const Places& places) {
  return std::make_unique<SampleData>(options, std::move(stores), truth, places);
}

DataKind labelled_samples() {
  return {.name = "labelled samples",
          .learner = "mlp",
          .prepared = "idx",
          .holds = [](const std::string&) { return true; },
          .feeds = [](ModelType type) { return type != ModelType::gpt; },
          .open = [](const Options& options, GroundTruth truth,
                     const Places& places) -> std::unique_ptr<RunData> {
            SampleStores stores;
            stores.train = open_prepared(options.data.train, truth, stores.notes);
            if (!options.data.test.empty())
              stores.test = open_prepared(options.data.test, GroundTruth::required, stores.notes);
            return sample_data(options, std::move(stores), truth, places);
          }};
}

}  // namespace mylos
