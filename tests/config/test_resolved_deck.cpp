// The resolved deck reads back to the options that it was written from, for all options.
#include <gtest/gtest.h>

#include <array>

#include <cmath>
#include <random>
#include <set>

#include "config/deck_builders.hpp"
#include "mylos/base/instructions.hpp"
#include "mylos/config/deck/difference.hpp"
#include "mylos/config/schema/schema.hpp"

namespace mylos::testing::resolved_deck_test {

/// Draws options that fulfil the checks between keys, and otherwise anything within the ranges.
class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}

  Options options() {
    Options o;
    o.run = {name(),           text(),         engine_() >> 1U,    0, 0, static_cast<int>(integer(0, 512)),
             integer(0, 1000), integer(1, 99), integer(0, 1000000)};
    (integer(0, 1) == 0 ? o.run.epochs : o.run.steps) = integer(1, 1'000'000);
    o.data = {text(),
              integer(0, 1) == 0 ? "" : text(),
              fraction(),
              integer(1, 2147483647),
              integer(0, 2147483647),
              one_of<Normalize>(4)};
    o.model = {ModelType::mlp,
               widths(),
               one_of<Activation>(6),
               one_of<NormType>(2),
               integer(0, 1) == 0,
               fraction(),
               kind_at<Loss>(static_cast<std::size_t>(integer(0, 7))),
               integer(0, 1 << 28),
               integer(0, 1 << 28),
               integer(0, 1) == 0,
               {},
               {},
               0,
               0,
               0,
               0,
               0,
               {},
               true,
               {},
               true};
    if (auto* huber = std::get_if<losses::Huber>(&o.model.loss)) huber->delta = positive(1e-3, 100);
    if (std::holds_alternative<losses::CrossEntropy>(o.model.loss)) {
      const double smoothing = fraction();
      o.model.loss = losses::CrossEntropy{.label_smoothing = smoothing,
                                          .class_weights = {positive(1e-3, 100), positive(1e-3, 100)}};
    }
    const bool is_transformer = integer(0, 1) == 0;
    if (is_transformer) {
      o.model = transformer();
      o.data.window = one_of<WindowOrder>(2);
    } else {
      o.data.shuffle = one_of<Shuffle>(2);
      o.data.last_batch = one_of<LastBatch>(2);
      o.data.augment = {
          integer(0, 9),      one_of<CropFill>(3),      integer(0, 9), integer(0, 1) == 0, integer(0, 1) == 0,
          integer(0, 1) == 0, one_of<AugmentTargets>(3)};
    }
    const bool is_of_targets = o.model.type == ModelType::mlp && is_of_numbers(o.model.prediction());
    if (is_of_targets && !o.data.augment.any()) o.data.weights = {text(), text()};
    o.precision = {one_of<DType>(3),    one_of<GradientType>(3), rules(),     scaler(),
                   MasterWeights::fp32, integer(0, 1) == 0,      adaptation()};
    o.memory = memory();
    o.optimizer = {one_of<OptimizerType>(4),
                   positive(1e-20, 1000),
                   fraction(),
                   fraction(),
                   positive(1e-30, 1),
                   fraction(),
                   fraction(),
                   fraction(),
                   one_of<Shard>(3),
                   integer(0, 1) == 0,
                   integer(0, 1) == 0 ? 0 : fraction(),
                   groups()};
    o.schedule = schedule();
    const auto backend = static_cast<std::size_t>(integer(0, communication_backends.size()));
    o.communication = {backend == 0 ? "auto" : std::string(communication_backends[backend - 1]),
                       integer(0, 3) == 0 ? 0 : integer(1, std::int64_t{1} << 40), one_of<ReduceType>(3),
                       positive(1e-9, 1e6)};
    o.checkpoint = {integer(0, 9999), fraction(),         integer(0, 9),
                    integer(0, 9999), integer(0, 1) == 0, one_of<OnError>(2)};
    o.kernels.gemm = std::array{GemmChoice::automatic, GemmChoice::measure,  GemmChoice::onednn,
                                GemmChoice::tiles,     GemmChoice::cublaslt, GemmChoice::hipblaslt,
                                GemmChoice::kokkos}[static_cast<std::size_t>(integer(0, 6))];
    const std::vector<Instructions> here = available_instructions();
    const auto instructions = static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(here.size())));
    if (instructions < here.size()) o.kernels.instructions = here[instructions];
    return o;
  }

 private:
  std::int64_t integer(std::int64_t min, std::int64_t max) {
    return std::uniform_int_distribution<std::int64_t>(min, max)(engine_);
  }
  double fraction() { return std::uniform_real_distribution<double>(0, 1)(engine_); }
  double positive(double min, double max) {
    return std::exp(std::uniform_real_distribution<double>(std::log(min), std::log(max) - 1e-9)(engine_));
  }
  template <class Enumeration>
  Enumeration one_of(int count) {
    return static_cast<Enumeration>(integer(0, count - 1));
  }
  std::string from(const std::vector<std::string>& pieces) {
    std::string result;
    for (std::int64_t n = integer(1, 12); n > 0; --n) {
      result += pieces[static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(pieces.size()) - 1))];
    }
    return result;
  }
  AdaptationOptions adaptation() {
    AdaptationOptions some{{}, integer(4, 1000), fraction(), fraction(), integer(1, 2147483647)};
    const auto count = static_cast<std::size_t>(integer(1, compute_types.size()));
    some.types.assign(compute_types.end() - count, compute_types.end());
    return some;
  }
  std::string name() { return from({"a", "Z", "7", "_", "ü", "\"", "\\", "'", " ", "#", "=", "🌾", "]"}); }
  std::string text() { return from({"a", "/", "..", "ü", "\"", "\\", "'", " ", "\\n", "#", "=", "漢"}); }
  std::vector<std::int64_t> widths() {
    std::vector<std::int64_t> result(static_cast<std::size_t>(integer(0, 5)));
    for (auto& width : result) width = integer(1, 1 << 20);
    return result;
  }
  ModelOptions transformer() {
    ModelOptions model;
    model.type = ModelType::gpt;
    model.layers = integer(1, 1000);
    model.heads = integer(1, 64);
    model.width = model.heads * 2 * integer(1, 64);
    model.context = integer(1, 9999);
    model.vocabulary = integer(0, 99999);
    model.norm = integer(0, 1) == 0 ? NormType::layernorm : NormType::rmsnorm;
    model.positions = one_of<PositionType>(2);
    model.tied = integer(0, 1) == 0;
    model.feed_forward = one_of<FeedForwardType>(2);
    model.bias = integer(0, 1) == 0;
    model.dropout = fraction();
    return model;
  }
  std::vector<PrecisionRule> rules() {
    std::vector<PrecisionRule> result;
    for (std::int64_t n = integer(0, 4); n > 0; --n) {
      result.push_back({std::to_string(n) + from({"norm", ".", "*", "\"", "head"}), one_of<DType>(3)});
    }
    return result;
  }
  std::vector<ParameterGroup> groups() {
    std::vector<ParameterGroup> result;
    for (std::int64_t n = integer(0, 3); n > 0; --n) {
      ParameterGroup& group = result.emplace_back();
      for (std::int64_t m = integer(1, 3); m > 0; --m)
        group.match.push_back(from({"a", "*", "/", "ü", "\"", "]", "#"}));
      if (integer(0, 1) == 0) group.lr_factor = positive(1e-6, 1000);
      if (integer(0, 1) == 0) group.weight_decay = fraction();
      if (integer(0, 1) == 0 || (!group.lr_factor && !group.weight_decay)) group.frozen = integer(0, 1) == 0;
    }
    return result;
  }
  ScheduleOptions schedule() {
    ScheduleOptions s{one_of<ScheduleType>(10), 0, integer(1, 1000), fraction(), integer(1, 1000),
                      positive(1e-9, 1)};
    for (std::int64_t at = integer(500, 600), n = integer(1, 16); n > 0; --n, at += integer(1, 99))
      s.milestones.push_back(at);
    s.power = positive(1e-6, 100);
    s.rise_share = fraction();
    s.start_factor = positive(1e-6, 1);
    s.period = integer(1, 1000);
    s.growth = integer(1, 100);
    s.decay_share = positive(1e-6, 0.4);
    const std::set<ScheduleType> with_steps{ScheduleType::linear, ScheduleType::polynomial,
                                            ScheduleType::cosine, ScheduleType::wsd};
    if (with_steps.contains(s.type)) s.warmup = integer(0, s.steps / 2);
    return s;
  }
  MemoryOptions memory() {
    MemoryOptions m;
    m.budget_bytes = integer(0, 1) == 0 ? 0 : integer(1 << 20, std::int64_t{1} << 50);
    m.recompute = one_of<RecomputeMode>(5);
    m.on_oom = one_of<OutOfMemory>(2);
    if (m.recompute == RecomputeMode::every) m.every = integer(1, 1000);
    if (m.recompute == RecomputeMode::groups) {
      for (std::int64_t first = integer(0, 3); m.groups.size() < 3; first = m.groups.back().last + 1) {
        m.groups.push_back({first, first + integer(0, 4)});
      }
    }
    return m;
  }
  ScalerOptions scaler() {
    ScalerOptions s{one_of<ScalerMode>(4),
                    0,
                    1 + positive(1e-6, 100),
                    positive(1e-6, 1),
                    integer(1, 9999),
                    integer(1, 9),
                    one_of<HysteresisRefill>(2),
                    positive(1e-30, 1),
                    positive(1e10, 1e30),
                    integer(1, 99),
                    0,
                    2,
                    false};
    s.initial_scale = positive(s.min_scale, s.max_scale);
    s.reset = integer(0, 1) == 0;
    s.backoff_overflows = integer(1, 9);
    if (s.hysteresis == 1 && integer(0, 1) == 0) s.backoff_window = integer(9, 1000);
    return s;
  }

  std::mt19937_64 engine_;
};

TEST(ResolvedDeck, ReadsBackToTheSameOptions) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    const Options options = Draw(seed).options();
    const std::string text = resolve(options);
    const Deck deck = read_deck(text, "resolved.toml", {});
    ASSERT_EQ(deck.resolved, text);
    // Except keys that have no effect in combination with others, which a deck may not have.
    for (const KeyDifference& difference : differing_keys(options, deck.options))
      ADD_FAILURE() << difference.key << ": " << difference.before << " -> " << difference.after << '\n'
                    << text;
  }
}

TEST(ResolvedDeck, SaysWhatDefaultsOverridesAndPresetsCameTo) {
  const std::string resolved =
      read_with(
          "", {"precision.compute=fp16", "precision.scaler.preset=conservative", "communication.bucket=3 MB"})
          .resolved;
  for (const std::string line : {"folder = \"runs/run\"", "steps = 100", "batch = 256", "lr = 0.001",
                                 "initial_scale = 32768.0", "bucket = \"3000000 B\"", "rules = {}"}) {
    EXPECT_NE(resolved.find('\n' + line + '\n'), std::string::npos) << line << "\nis not in\n" << resolved;
  }
  for (const std::string key : {"epochs", "preset", "step_size", "test"}) {
    EXPECT_EQ(resolved.find('\n' + key + " ="), std::string::npos) << key;
  }
}

TEST(ResolvedDeck, WritesEveryKeyThatItReads) {
  // A key without a writing function would be lost from checkpoints.
  const Options options = Draw(1).options();
  for (const Key& key : schema().keys) {
    const auto value = key.write(options);
    if (!value) continue;
    Options changed;
    changed.model.type = options.model.type;  // decides which keys of [model] and [data] are written
    ASSERT_EQ(key.read(changed, *value), std::nullopt) << key.path();
    EXPECT_EQ(to_toml(*key.write(changed)), to_toml(*value)) << key.path();
  }
}

TEST(Difference, NamesTheKeysThatTwoDecksGiveOtherValues) {
  const Options before = read_with("").options;
  const Options after =
      read_with("", {"optimizer.lr=0.5", "run.epochs=2", "precision.rules.head=fp32"}).options;
  std::string lines;
  for (const auto& [key, old_value, new_value] : differing_keys(before, after)) {
    lines += key + ": " + old_value + " -> " + new_value + '\n';
  }
  EXPECT_EQ(lines,
            "run.epochs: nothing -> 2\n"
            "run.steps: 100 -> nothing\n"
            "precision.rules: {} -> { \"head\" = \"fp32\" }\n"
            "optimizer.lr: 0.001 -> 0.5\n");
  EXPECT_TRUE(differing_keys(after, after).empty());
}

}  // namespace mylos::testing::resolved_deck_test
