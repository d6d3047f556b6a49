// What runs measure of samples that mesh.space divides, and what they refuse.
#include "mylos/train/evaluation/measures/measures_of_parts.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "data/builders.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/data/files/scaling/normalizer_of_box.hpp"
#include "mylos/data/run/run_data.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "support/refusal.hpp"
#include "train/constant_pass.hpp"

namespace mylos::measures_of_parts_test {

using namespace testing_support;  // NOLINT

/// A pass over boxes, of which two make a sample.
class PassOverBoxes final : public EvaluationPass {
 public:
  explicit PassOverBoxes(std::int64_t samples) : pass_(samples, DType::fp32, 0.5f) {}
  [[nodiscard]] Share share() const override { return pass_.share(); }
  [[nodiscard]] GridPart part() const override { return {.boxes = {1, 1, 2}}; }
  [[nodiscard]] const Batch* next() override { return pass_.next(); }
  void rewind() override { pass_.rewind(); }

 private:
  ConstantPass pass_;
};

TEST(MeasuresOfParts, CountSamplesAndAverageOverBoxes) {
  SmallRun run(small_options(DType::fp32));
  TrainingModel& model = run.trainer->model();
  const auto found_by = [&](EvaluationPass& pass) {
    return evaluate(run.trainer->quiesce(), {run.trainer->execution(), *run.engines, model},
                    *run.communicator, pass);
  };
  ConstantPass whole(model.samples(), DType::fp32, 0.5f);
  PassOverBoxes boxes(model.samples());
  const Evaluation of_samples = found_by(whole);
  const Evaluation of_boxes = found_by(boxes);
  EXPECT_EQ(of_boxes.loss, of_samples.loss);
  EXPECT_EQ(of_boxes.accuracy, of_samples.accuracy);
  EXPECT_EQ(of_boxes.count * 2, of_samples.count);
}

/// A network that computes each of `rows` x 6 points alone.
Options network_of_points(std::int64_t rows, const Loss& loss) {
  Options options = small_options(DType::fp32);
  options.model.type = ModelType::chain;
  options.model.hidden = {};
  options.model.loss = loss;
  options.model.shape = {rows, 6, 2};
  options.model.inputs = rows * 12;
  options.model.outputs = rows * 6;
  options.model.chain = {
      {.kind = kinds::Conv{.kernel = {1}}, .name = "first", .outputs = 4, .activation = Activation::tanh},
      {.kind = kinds::Conv{.kernel = {1}}, .name = "last", .outputs = 1}};
  return options;
}

/// Each rank has a box of all samples, against a share of whole samples.
TEST(MeasuresOfParts, OfBoxesOfAllRanksAreThoseOfSamples) {
  constexpr std::int64_t rows = 12;
  const TemporaryFolder folder;
  Options options;
  options.data.train = options.data.test = write_table(folder / "a.h5", 11, rows * 12, rows * 6);
  options.data.shape = {rows, 6, 2};
  options.data.normalize = Normalize::standard;  // another scale of each target
  options.data.batch = 8;
  for (const Loss& loss : {Loss(losses::Mse{}), Loss(losses::Gaussian{})}) {
    options.model.loss = loss;
    const auto data = open_run_data(options);
    const Normalizer normalizer = data->normalizer({});
    const auto found_by = [&](SmallRun& run, EvaluationOptions passing, const ColumnScaling& targets) {
      TrainingModel& model = run.trainer->model();
      passing.max_samples = model.samples();
      std::vector<Measure> measures{Measure::r2};
      if (model.chain().has_deviations()) measures.push_back(Measure::crps);
      const auto pass = data->pass_over(DataPart::test, normalizer, passing);
      return evaluate(run.trainer->quiesce(), {run.trainer->execution(), *run.engines, model},
                      *run.communicator, *pass, measures, {}, targets);
    };
    SmallRun whole(network_of_points(rows, loss));
    const int rank = whole.communicator->rank();
    const int ranks = whole.communicator->size();
    const Evaluation of_samples = found_by(whole, {.rank = rank, .ranks = ranks}, normalizer.targets);
    SmallRun box(network_of_points(rows / ranks, loss));
    const GridPart part{{1, ranks, 1}, {0, rank, 0}};
    const Evaluation of_boxes =
        found_by(box, {.part = part}, part_of(normalizer, options.data.shape, part).targets);
    EXPECT_EQ(of_boxes.count, 11);
    EXPECT_EQ(of_samples.count, 11);
    EXPECT_NEAR(of_boxes.loss, of_samples.loss, 1e-6 * std::abs(of_samples.loss));
    ASSERT_EQ(of_boxes.targets->targets(), rows * 6);
    const std::vector<double> r2 = of_samples.targets->r2();
    for (std::size_t target = 0; target < r2.size(); ++target)
      EXPECT_NEAR(of_boxes.targets->r2()[target], r2[target], 1e-5 * (1 + std::abs(r2[target]))) << target;
    EXPECT_NEAR(*of_boxes.measured[Measure::r2], *of_samples.measured[Measure::r2],
                1e-5 * (1 + std::abs(*of_samples.measured[Measure::r2])));
    const std::optional<double> crps = of_samples.measured[Measure::crps];
    ASSERT_EQ(crps.has_value(), std::holds_alternative<losses::Gaussian>(loss));
    if (!crps) continue;
    EXPECT_NEAR(*of_boxes.measured[Measure::crps], *crps, 1e-6 * *crps);
  }
}

TEST(MeasuresOfParts, ThoseOfWholeSamplesAreRefused) {
  Options options;
  const Places places = {{"run.metrics", "deck.toml:4"}};
  const Chain none;
  options.run.metrics = {Measure::relative_l2};
  EXPECT_FALSE(divides_samples(options));
  require_measures_of_parts(options, none, places);
  options.mesh.space = {1, 1};
  require_measures_of_parts(options, none, places);
  options.mesh.space = {2, 1};
  EXPECT_TRUE(divides_samples(options));
  for (const Measure measure : {Measure::relative_l2, Measure::relative_h1, Measure::top5}) {
    options.run.metrics = {Measure::crps, measure};
    EXPECT_TRUE(test::refuses(errors::not_measured, {"deck.toml:4: ", "mesh.space", name_of(measure)},
                              [&] { require_measures_of_parts(options, none, places); }));
  }
  options.run.metrics = {Measure::crps, Measure::r2};
  require_measures_of_parts(options, none, places);
  options.run.rollout_steps = 12;
  EXPECT_TRUE(test::refuses(errors::not_measured, {"run.metrics", "rollout12", "mesh.space"},
                            [&] { require_measures_of_parts(options, none, {}); }));
}

TEST(MeasuresOfParts, VectorsHaveAll) {
  Options options;
  options.mesh.space = {2, 1};
  options.model.type = ModelType::chain;
  options.model.shape = {4, 6, 2};
  options.model.inputs = 48;
  options.model.outputs = 3;
  options.model.part = {{1, 2, 1}, {0, 1, 0}};
  options.model.loss = losses::Mse{};
  options.model.chain = {{.kind = kinds::GlobalPool{}}, {.kind = kinds::Dense{}}};
  options.run.metrics = {Measure::r2, Measure::relative_l2};
  require_measures_of_parts(options, make_chain(options.model, {}, 1, false), {});
}

TEST(MeasuresOfParts, TargetsOnOtherPointsAreRefused) {
  Options options;
  options.mesh.space = {2, 3};
  options.model.part = {{1, 2, 3}, {0, 1, 0}};
  options.model.shape = {4, 6, 2};
  Chain chain;
  chain.grids = {{{1, 2, 2}, 5}};
  require_measures_of_parts(options, chain, {});
  for (const GridShape& grid : {GridShape{{1, 4, 4}, 5}, GridShape{{1, 1, 2}, 5}}) {
    chain.grids = {grid};
    EXPECT_TRUE(test::refuses(errors::keys_conflict, {"mesh.space = [2, 3]", "[4, 6]"},
                              [&] { require_measures_of_parts(options, chain, {}); }));
  }
}

}  // namespace mylos::measures_of_parts_test
