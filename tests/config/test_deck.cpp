// The options that a valid deck gives.
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"
#include "mylos/config/deck/deck_without_length.hpp"

namespace mylos::testing::deck_test {

TEST(Deck, SaysNothingAndTheOptionsKeepTheirDefaults) {
  Options expected;
  expected.run.steps = 100;
  expected.run.folder = "runs/run";
  expected.data.train = "train.h5";
  EXPECT_EQ(read_with("").options, expected);
}

/// For plans and initial weights; a checkpoint that these make has such a deck.
TEST(Deck, NeedsNoLengthWhereNothingIsTrained) {
  const std::string text = "data.train = 'train.h5'\nschedule.type = 'cosine'\nschedule.warmup = 5";
  EXPECT_THROW(static_cast<void>(read_deck(text, "deck.toml", {})), Error);
  const Deck deck = read_deck_without_length(text, "deck.toml", {});
  EXPECT_EQ(deck.options.run.steps, 0);
  EXPECT_EQ(deck.options.run.epochs, 0);
  EXPECT_EQ(read_stored_deck(deck.resolved, "net.h5").options, deck.options);
  EXPECT_THROW(static_cast<void>(read_deck(deck.resolved, "deck.toml", {})), Error);
  EXPECT_THROW(static_cast<void>(read_deck_without_length(text, "deck.toml", {"run.stepz=3"})), Error);
}

TEST(Deck, FillsEveryOption) {
  const Options read = read_deck(R"(
[run]
name = "everything"
folder = "somewhere/else"
seed = 9223372036854775807
epochs = 3
threads = 4
evaluate_every = 50
log_every = 1
patience = 6
metrics = ["r2", "relative_l2"]
walltime = "01:02:03"
reproducible = false
[data]
train = "a.h5"
test = "b.h5"
validation = 0.25
batch = 64
micro_batch = 16
normalize = "minmax"
shuffle = "blocks"
last_batch = "join"
[data.weights]
file = "areas.h5"
array = "/area"
[model]
type = "mlp"
hidden = [32, 16]
activation = "silu"
norm = "layernorm"
dropout = 0.5
loss = "mse"
inputs = 7
outputs = 2
[precision]
compute = "fp16"
gradient = "fp32"
rules = { head = "fp32" }
masters = "none"
adapt = true
[precision.adaptation]
types = ["fp16", "fp32"]
steps = 7
loss_gap = 0.5
least_gain = 0.25
every = 40
[precision.scaler]
mode = "dynamic"
initial_scale = 1024
growth_factor = 4
backoff_factor = 0.25
growth_interval = 10
hysteresis = 1
backoff_window = 500
backoff_overflows = 3
min_scale = 0.5
max_scale = 4096
max_consecutive_skips = 7
reset = true
[optimizer]
type = "sgd"
lr = 0.5
weight_decay = 0
momentum = 0.7
clip_norm = 2
[schedule]
type = "step"
warmup = 5
step_size = 30
factor = 0.2
[communication]
backend = "mpi"
bucket = "3 MiB"
reduce_type = "compute"
timeout = 1.5
[checkpoint]
every = 11
keep_last = 3
keep_every = 22
every_minutes = 1.5
background = false
on_error = "continue"
keep_best = "test.accuracy"
[kernels]
gemm = "kokkos"
)",
                                 "deck.toml", {})
                           .options;
  const RunOptions run{"everything",
                       "somewhere/else",
                       9223372036854775807U,
                       3,
                       0,
                       4,
                       50,
                       1,
                       3723,
                       false,
                       0,
                       6,
                       {Measure::r2, Measure::relative_l2}};
  DataOptions data{"a.h5", "b.h5", 0.25, 64, 16, Normalize::minmax, Shuffle::blocks, LastBatch::join};
  data.weights = {"areas.h5", "/area"};
  ModelOptions model;
  model.hidden = {32, 16};
  model.activation = Activation::silu;
  model.norm = NormType::layernorm;
  model.dropout = 0.5;
  model.loss = losses::Mse{};
  model.inputs = 7;
  model.outputs = 2;
  const ScalerOptions scaler{
      ScalerMode::dynamic, 1024, 4, 0.25, 10, 1, HysteresisRefill::growth, 0.5, 4096, 7, 500, 3, true};
  const AdaptationOptions adaptation{{DType::fp16, DType::fp32}, 7, 0.5, 0.25, 40};
  const PrecisionOptions precision{DType::fp16, GradientType::fp32,  {{"head", DType::fp32}},
                                   scaler,      MasterWeights::none, true,
                                   adaptation};
  const OptimizerOptions optimizer{OptimizerType::sgd, 0.5, 0.9, 0.999, 1e-8, 0, 0.7, 2};
  const ScheduleOptions schedule{ScheduleType::step, 5, 0, 0, 30, 0.2};
  const CommunicationOptions communication{"mpi", 3 * 1048576, ReduceType::compute, 1.5};
  const CheckpointOptions checkpoint{11, 1.5, 3, 22, false, OnError::go_on, "test.accuracy"};
  EXPECT_EQ(read.run, run);
  EXPECT_EQ(read.data, data);
  EXPECT_EQ(read.model, model);
  EXPECT_EQ(read.precision, precision);
  EXPECT_EQ(read.optimizer, optimizer);
  EXPECT_EQ(read.schedule, schedule);
  EXPECT_EQ(read.communication, communication);
  EXPECT_EQ(read.checkpoint, checkpoint);
  EXPECT_EQ(read.kernels.gemm, GemmChoice::kokkos);
}

TEST(Deck, FillsWhatOtherTypesHave) {
  const Options read =
      read_with(
          "precision.compute = 'fp16'\nprecision.scaler.hysteresis = 3\n"
          "precision.scaler.hysteresis_refill = 'good_step'\noptimizer.type = 'lamb'\n"
          "optimizer.betas = [0.8, 0.99]\noptimizer.epsilon = 1e-6\nschedule.type = 'linear'\n"
          "schedule.steps = 90\nschedule.final_lr = 0.125")
          .options;
  EXPECT_EQ(read.precision.scaler.hysteresis, 3);
  EXPECT_EQ(read.precision.scaler.hysteresis_refill, HysteresisRefill::good_step);
  EXPECT_EQ(read.optimizer, (OptimizerOptions{OptimizerType::lamb, 1e-3, 0.8, 0.99, 1e-6}));
  EXPECT_EQ(read.schedule, (ScheduleOptions{ScheduleType::linear, 0, 90, 0.125}));
}

TEST(Deck, TakesWholeNumbersWhereNumbersAreWanted) {
  EXPECT_EQ(read_with("optimizer.lr = 1").options.optimizer.lr, 1.0);
  EXPECT_EQ(read_with("communication.bucket = 4096").options.communication.bucket_bytes, 4096);
}

TEST(Deck, TakesAutoInPlaceOfBytes) {
  EXPECT_EQ(read_with("").options.communication.bucket_bytes, 0);
  EXPECT_EQ(read_with("communication.bucket = 'auto'").options.communication.bucket_bytes, 0);
  const Deck taken_back = read_with("communication.bucket = 4096", {"communication.bucket=auto"});
  EXPECT_EQ(taken_back.options.communication.bucket_bytes, 0);
  EXPECT_NE(taken_back.resolved.find("\nbucket = \"auto\"\n"), std::string::npos) << taken_back.resolved;
}

TEST(Deck, NamesItsFolderAfterTheRun) {
  EXPECT_EQ(read_with("run.name = 'x'").options.run.folder, "runs/x");
}

using Rules = std::vector<PrecisionRule>;

TEST(Rules, KeepTheOrderInWhichTheDeckGivesThem) {
  // toml++ would return them as a, m, z.
  const Rules expected{{"z", DType::fp32}, {"m.*", DType::fp16}, {"a", DType::bf16}};
  EXPECT_EQ(
      read_with("[precision]\nrules = { z = 'fp32', 'm.*' = 'fp16', a = 'bf16' }").options.precision.rules,
      expected);
  EXPECT_EQ(read_with("[precision.rules]\nz = 'fp32'\n'm.*' = 'fp16'\na = 'bf16'").options.precision.rules,
            expected);
  EXPECT_EQ(
      read_with("[precision]\nrules.z = 'fp32'\ncompute = 'fp16'\nrules.'m.*' = 'fp16'\nrules.a = 'bf16'")
          .options.precision.rules,
      expected);
}

TEST(Rules, FromTheCommandLineComeLast) {
  const std::string deck = "[precision]\nrules = { 'norm.*' = 'fp16', '*' = 'bf16' }";
  EXPECT_EQ(read_with(deck, {"precision.rules.head=fp32"}).options.precision.rules,
            (Rules{{"norm.*", DType::fp16}, {"*", DType::bf16}, {"head", DType::fp32}}));
  EXPECT_EQ(read_with(deck, {"precision.rules.norm.*=fp32"}).options.precision.rules,
            (Rules{{"*", DType::bf16}, {"norm.*", DType::fp32}}));
  EXPECT_EQ(read_with(deck, {"precision.rules.\"norm.*\"=fp32"}).options.precision.rules,
            (Rules{{"*", DType::bf16}, {"norm.*", DType::fp32}}));
  EXPECT_EQ(read_with(deck, {"precision.rules={head='fp32'}"}).options.precision.rules,
            (Rules{{"head", DType::fp32}}));
  EXPECT_EQ(read_with(deck, {"precision.rules={}"}).options.precision.rules, Rules{});
}

TEST(Overrides, TakeThePlaceOfTheDeck) {
  const Options options =
      read_with("optimizer.lr = 0.1", {"optimizer.lr=3e-4", "precision.compute=fp16", "model.hidden=[8, 4]",
                                       "data.test = test set.h5", "data.normalize=\"standard\""})
          .options;
  EXPECT_EQ(options.optimizer.lr, 3e-4);
  EXPECT_EQ(options.precision.compute, DType::fp16);
  EXPECT_EQ(options.model.hidden, (std::vector<std::int64_t>{8, 4}));
  EXPECT_EQ(options.data.test, "test set.h5");
  EXPECT_EQ(options.data.normalize, Normalize::standard);
}

TEST(Overrides, GiveTextWithoutQuotesEvenWhereItLooksLikeANumberOrADate) {
  EXPECT_EQ(read_with("", {"run.name=2024-01-01"}).options.run.name, "2024-01-01");
  EXPECT_EQ(read_with("", {"run.name=007"}).options.run.name, "007");
  EXPECT_EQ(read_with("", {"run.name=42"}).options.run.name, "42");
  EXPECT_EQ(read_with("", {"run.folder=true"}).options.run.folder, "true");
}

TEST(Overrides, OfTheLengthTakeThePlaceOfEitherLength) {
  const std::string deck = "[run]\nepochs = 3\n[data]\ntrain = \"train.h5\"\n";
  const RunOptions run = read_deck(deck, "deck.toml", {"run.steps=7"}).options.run;
  EXPECT_EQ(run.epochs, 0);
  EXPECT_EQ(run.steps, 7);
}

TEST(ScalerPreset, SetsTheParametersOfTheDesign) {
  const auto preset = [](const std::string& name) {
    return read_with("", {"precision.compute=fp16", "precision.scaler.preset=" + name})
        .options.precision.scaler;
  };
  EXPECT_EQ(preset("standard"), ScalerOptions{});
  const ScalerOptions conservative = preset("conservative");
  EXPECT_EQ(conservative.initial_scale, 32768);
  EXPECT_EQ(conservative.growth_interval, 5000);
  EXPECT_EQ(conservative.growth_factor, 1.5);
  const ScalerOptions aggressive = preset("aggressive");
  EXPECT_EQ(aggressive.initial_scale, 131072);
  EXPECT_EQ(aggressive.growth_interval, 1000);
  EXPECT_EQ(aggressive.growth_factor, 2.5);
  EXPECT_EQ(preset("small"), ScalerOptions{});
  EXPECT_EQ(preset("medium"), (ScalerOptions{.initial_scale = 262144}));
  EXPECT_EQ(preset("large"), (ScalerOptions{.initial_scale = 1048576, .growth_factor = 1.5}));
}

TEST(ScalerPreset, YieldsToTheKeysBesideItWhereverItStands) {
  const ScalerOptions scaler =
      read_with(
          "[precision]\ncompute = 'fp16'\n[precision.scaler]\ngrowth_interval = 10\npreset = 'aggressive'")
          .options.precision.scaler;
  EXPECT_EQ(scaler.growth_interval, 10);
  EXPECT_EQ(scaler.initial_scale, 131072);
}

}  // namespace mylos::testing::deck_test
