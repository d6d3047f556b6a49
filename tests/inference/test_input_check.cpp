// Flags and distances of samples of any element type, layout and strides, against closed forms.
#include "mylos/inference/input_check.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <limits>

#include "inference/stored_models.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/inference/uncertainty/mahalanobis.hpp"
#include "support/allocation_counter.hpp"
#include "support/refusal.hpp"

namespace mylos::input_check_test {

using test::StridedArray;

constexpr std::int64_t inputs = 6;

/// A known inverse covariance: a diagonal, and a pair of inputs of correlation 0.8. Input 5 is constant.
InputStatistics known_statistics() {
  InputStatistics known;
  known.samples = 100;
  known.mean = {1, -2, 0, 3, 0.5, 4};
  known.deviation = {1, 2, 1, 1, 0.25, 0};
  known.inverse_covariance.assign(36, 0);
  const double inverse_variance[] = {1, 0.25, 1 / 0.36, 1 / 0.36, 16, 0};
  for (std::size_t i = 0; i < 6; ++i) known.inverse_covariance[i * 7] = inverse_variance[i];
  known.inverse_covariance[2 * 6 + 3] = known.inverse_covariance[3 * 6 + 2] = -0.8 / 0.36;
  known.distances = {2.5, 3, 4.5};
  return known;
}

InputRange known_range() {
  return {{-1.5, -7, -3, 0, -0.25, 4}, {3.5, 3, 3, 6, 1.25, 4}};
}

/// The square of the distance by its formula.
double square_of(const float* x) {
  const InputStatistics known = known_statistics();
  double z[6];
  for (std::size_t i = 0; i < 6; ++i) z[i] = static_cast<double>(x[i]) - known.mean[i];
  return z[0] * z[0] + z[1] * z[1] / 4 + (z[2] * z[2] + z[3] * z[3] - 1.6 * z[2] * z[3]) / 0.36 +
         16 * z[4] * z[4];
}

class InputCheckTest : public testing::Test {
 protected:
  void write(const std::optional<InputStatistics>& statistics, const InputRange& range) {
    const Options options = test::vector_options(DType::bf16);
    const auto engines = make_engines(options.kernels);
    const TrainingModel trained(make_chain(options.model, options.precision, 1, false), *engines, 4, 1 << 20,
                                1);
    const Normalizer normalizer{test::lively_scaling(6, 0.3, 1.7), test::lively_scaling(4, -2, 0.6), range};
    test::write_network(ranks, file, trained,
                        {.deck = resolve(options), .normalizer = normalizer, .inputs = statistics});
  }
  /// Values about the means, some of them outside.
  static double value_at(std::int64_t sample, std::int64_t input) {
    const InputStatistics known = known_statistics();
    const auto i = static_cast<std::size_t>(input);
    if (input == 5) return sample % 7 == 3 ? 4.5 : 4;
    const double amplitude = 0.4 + 0.3 * static_cast<double>(sample % 7);
    return known.mean[i] +
           known.deviation[i] * amplitude * std::sin(1.7 * static_cast<double>(sample * 6 + input));
  }
  static std::uint8_t flag_of(const float* x, double limit) {
    const InputRange range = known_range();
    bool outside = false;
    for (std::int64_t i = 0; i < inputs; ++i) outside |= !range.holds(x[i], i);
    return static_cast<std::uint8_t>((outside ? input_flag::outside_range : 0) |
                                     (std::sqrt(square_of(x)) > limit ? input_flag::far : 0));
  }
  /// Compares with the formulas, for these dimensions before those of a sample.
  template <class In, class Out>
  void expect_flags(Model& model, const std::vector<std::int64_t>& leading, double limit) {
    std::vector<std::int64_t> extents = leading;
    extents.push_back(inputs);
    std::vector<std::size_t> order(extents.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (const bool first_fastest : {false, true}) {
      if (first_fastest) std::reverse(order.begin(), order.end());
      for (const std::int64_t gap : {1, 2}) {
        StridedArray<In> x(extents, {order.rbegin(), order.rend()}, gap);
        const std::int64_t samples = x.size() / inputs;
        std::vector<float> rows;
        for (std::int64_t i = 0; i < x.size(); ++i) {
          x.at(i) = test::element_of<In>(value_at(i / inputs, i % inputs));
          rows.push_back(test::float_of(x.at(i)));
        }
        std::vector<std::size_t> plain(leading.size());
        std::iota(plain.rbegin(), plain.rend(), std::size_t{0});
        StridedArray<Out> distances(leading, plain, gap);
        std::vector<std::uint8_t> flags(static_cast<std::size_t>(samples * 3), 99);
        FlagArray written{flags.data(), static_cast<int>(leading.size()), {}, {}, false};
        std::int64_t stride = 3;
        for (std::size_t d = leading.size(); d-- > 0; stride *= leading[d]) {
          written.extents[d] = leading[d];
          written.strides[d] = stride;
        }
        const Array far = distances.array();
        model.check_inputs(exec, x.const_array(), written, &far, {.limit = limit == 3 ? 0 : limit});
        exec.fence();
        int flagged = 0;
        for (std::int64_t i = 0; i < samples; ++i) {
          const float* const row = &rows[static_cast<std::size_t>(i * inputs)];
          const auto at = static_cast<std::size_t>(3 * i);
          EXPECT_EQ(int{flags[at]}, int{flag_of(row, limit)}) << i;
          EXPECT_EQ(flags[at + 1], 99);
          flagged += flags[at] == 0 ? 0 : 1;
          const double expected = std::sqrt(square_of(row));
          EXPECT_NEAR(test::float_of(distances.at(i)), expected, expected * 1e-2) << i;
          if (std::is_same_v<Out, float>) {
            EXPECT_FLOAT_EQ(test::float_of(distances.at(i)), static_cast<float>(expected));
          }
        }
        EXPECT_EQ(distances.written(), samples);
        if (samples > 20) {
          EXPECT_TRUE(flagged > 3 && flagged < samples) << flagged;
        }
      }
    }
  }

  Execution exec;
  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::string file = folder.path() + "/network.h5";
};

TEST_F(InputCheckTest, RangesOfAGridAreThoseOfItsChannels) {
  const Options options = test::grid_options(DType::fp32);  // samples [4, 5, 2]
  const auto engines = make_engines(options.kernels);
  const TrainingModel trained(make_chain(options.model, options.precision, 1, false), *engines, 4, 1 << 20,
                              1);
  test::write_network(ranks, file, trained,
                      {.deck = resolve(options),
                       .normalizer = {.inputs = {}, .targets = {}, .input_range = {{-1, 10}, {1, 20}}}});
  Model model(file);
  constexpr std::int64_t values = 40;
  std::vector<float> x;
  for (std::int64_t i = 0; i < 4 * values; ++i) x.push_back(i % 2 == 0 ? 0.5f : 15.0f);
  x[1 * values + 38] = 15;   // the range of channel 1, in channel 0
  x[2 * values + 3] = 0.5f;  // and the other way round
  x[3 * values + 39] = 20;   // the largest is inside
  std::vector<std::uint8_t> flags(4, 99);
  FlagArray written{flags.data(), 1, {}, {}, false};
  written.extents[0] = 4;
  written.strides[0] = 1;
  const ConstArray read{x.data(), ElementType::fp32, 4, {4, 4, 5, 2}, {values, 10, 2, 1}, false};
  model.check_inputs(exec, read, written, nullptr, {.distance = false});
  exec.fence();
  EXPECT_EQ(flags, (std::vector<std::uint8_t>{0, input_flag::outside_range, input_flag::outside_range, 0}));
}

TEST_F(InputCheckTest, FlagsAreThoseOfTheFormulasForAnyArray) {
  write(known_statistics(), known_range());
  for (const std::int64_t piece : {std::int64_t{0}, std::int64_t{7}}) {
    Model model(file, {.max_samples = piece});
    for (const double limit : {3.0, 2.0}) {
      expect_flags<float, float>(model, {40}, limit);
      expect_flags<double, float>(model, {1}, limit);
      expect_flags<double, double>(model, {6, 5}, limit);
      expect_flags<half, half>(model, {3, 2, 5}, limit);
      expect_flags<bfloat16, bfloat16>(model, {41}, limit);
    }
  }
}

TEST_F(InputCheckTest, ManySamplesAreFlaggedByAllThreads) {
  write(known_statistics(), known_range());
  Model model(file);
  expect_flags<float, float>(model, {5000}, 3.0);
}

TEST_F(InputCheckTest, SamplesThatAreNotFiniteHaveAllFlags) {
  write(known_statistics(), known_range());
  Model model(file);
  StridedArray<float> x({3, 6}, {1, 0}, 1);
  for (std::int64_t i = 0; i < 18; ++i)
    x.at(i) = static_cast<float>(known_statistics().mean[static_cast<std::size_t>(i % 6)]);
  x.at(1) = std::numeric_limits<float>::quiet_NaN();
  x.at(9) = -std::numeric_limits<float>::infinity();
  std::uint8_t flags[3];
  float distances[3];
  const FlagArray written{flags, 1, {3}, {1}, false};
  const Array far{distances, ElementType::fp32, 1, {3}, {1}, false};
  model.check_inputs(exec, x.const_array(), written, &far);
  EXPECT_EQ(int{flags[0]}, 7);
  EXPECT_EQ(int{flags[1]}, 7);
  EXPECT_EQ(int{flags[2]}, 0);
  EXPECT_TRUE(std::isinf(distances[0]) && std::isinf(distances[1]));
  EXPECT_EQ(distances[2], 0);
  model.check_inputs(exec, x.const_array(), written, nullptr, {.distance = false});
  EXPECT_EQ(int{flags[0]}, input_flag::outside_range | input_flag::not_finite);
  model.check_inputs(exec, x.const_array(), written, nullptr, {.range = false, .distance = false});
  EXPECT_EQ(int{flags[1]}, input_flag::not_finite);
}

TEST_F(InputCheckTest, ViewsWhereKernelsRun) {
  write(known_statistics(), known_range());
  Model model(file);
  const Kokkos::View<double**, Kokkos::LayoutLeft, Memory> x("x", 9, 6);
  const auto host = Kokkos::create_mirror_view(x);
  for (std::int64_t i = 0; i < 54; ++i) host(i / 6, i % 6) = value_at(i / 6, i % 6);
  Kokkos::deep_copy(x, host);
  const Kokkos::View<std::uint8_t*, Memory> flags("flags", 9);
  model.check_inputs(exec, x, flags);
  exec.fence();
  const auto found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), flags);
  for (std::int64_t i = 0; i < 9; ++i) {
    float row[6];
    for (std::int64_t j = 0; j < 6; ++j) row[j] = static_cast<float>(host(i, j));
    EXPECT_EQ(int{found(i)}, int{flag_of(row, 3)});
  }
}

TEST_F(InputCheckTest, ClonesShareTheStatisticsAndFlagInParallelRegions) {
  if (!memory_is_host) GTEST_SKIP() << "kernels run on a device";
  write(known_statistics(), known_range());
  Model model(file);
  std::vector<Model> clones;
  for (int i = 0; i < 4; ++i) clones.push_back(model.clone());
  EXPECT_EQ(&clones[0].input_statistics(), &model.input_statistics());
  std::vector<float> x;
  for (std::int64_t i = 0; i < 600; ++i) x.push_back(static_cast<float>(value_at(i / 6, i % 6)));
  const ConstArray read{x.data(), ElementType::fp32, 2, {100, 6}, {6, 1}, false};
  std::vector<std::vector<std::uint8_t>> flags(4, std::vector<std::uint8_t>(100));
  const auto check = [&](std::size_t own) {
    clones[own].check_inputs(exec, read, FlagArray{flags[own].data(), 1, {100}, {1}, false});
  };
  check(0);
#pragma omp parallel num_threads(4)
  {
    const auto own = static_cast<std::size_t>(omp_get_thread_num());
    if (own > 0) check(own);
  }
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(flags[i], flags[0]);
  const long before = testing_support::allocations();
  check(0);
#pragma omp parallel num_threads(2)
  check(static_cast<std::size_t>(omp_get_thread_num()));
  EXPECT_EQ(testing_support::allocations(), before);
}

TEST_F(InputCheckTest, RefusesWhatTheFileDoesNotKnowAndArraysThatDoNotFit) {
  std::vector<float> x(12);
  std::uint8_t flags[4] = {9, 9, 9, 9};
  float distances[2];
  const ConstArray read{x.data(), ElementType::fp32, 2, {2, 6}, {6, 1}, false};
  const FlagArray written{flags, 1, {2}, {1}, false};
  const Array far{distances, ElementType::fp32, 1, {2}, {1}, false};
  const auto refused = [&](ErrorId id, const char* part, const FlagArray& to, const Array* also,
                           const InputCheck& check) {
    Model model(file);
    return test::refuses(ExitCode::bad_input, id, {part},
                         [&] { model.check_inputs(exec, read, to, also, check); });
  };
  write({}, {});
  EXPECT_TRUE(refused(errors::missing_dataset, "/input_range", written, nullptr, {}));
  EXPECT_TRUE(refused(errors::missing_dataset, "--input-statistics", written, nullptr, {.range = false}));
  write({}, known_range());
  EXPECT_TRUE(refused(errors::missing_dataset, "--input-statistics", written, &far, {}));
  EXPECT_TRUE(refused(errors::bad_call, "distances are to be written", written, &far, {.distance = false}));
  write(known_statistics(), known_range());
  EXPECT_TRUE(refused(errors::bad_call, "limit", written, nullptr, {.limit = -1}));
  EXPECT_TRUE(refused(errors::bad_call, "limit", written, nullptr, {.distance = false, .limit = 2}));
  FlagArray wrong = written;
  wrong.extents = {3};
  EXPECT_TRUE(refused(errors::bad_call, "x has [2] samples and flags [3]", wrong, nullptr, {}));
  wrong = written;
  wrong.data = reinterpret_cast<std::uint8_t*>(x.data());
  EXPECT_TRUE(refused(errors::bad_call, "x and flags overlap", wrong, nullptr, {}));
  wrong.data = reinterpret_cast<std::uint8_t*>(distances) + 3;
  EXPECT_TRUE(refused(errors::bad_call, "flags and distances overlap", wrong, &far, {}));
  wrong.data = nullptr;
  EXPECT_TRUE(refused(errors::bad_call, "null", wrong, nullptr, {}));
  EXPECT_EQ(int{flags[0]}, 9);
}

TEST_F(InputCheckTest, RefusesStatisticsThatContradictThemselves) {
  const auto refused = [&](const char* part, auto&& change) {
    InputStatistics statistics = known_statistics();
    change(statistics);
    write(statistics, known_range());
    return test::refuses(ExitCode::bad_input, errors::damaged, {file, part}, [&] { Model model(file); });
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(refused("mean", [](InputStatistics& s) { s.mean[2] = nan; }));
  EXPECT_TRUE(refused("deviation", [](InputStatistics& s) { s.deviation[2] = -1; }));
  EXPECT_TRUE(refused("inverse covariance", [](InputStatistics& s) { s.inverse_covariance[0] = nan; }));
  EXPECT_TRUE(refused("positive definite", [](InputStatistics& s) { s.inverse_covariance[0] = -1; }));
  EXPECT_TRUE(refused("symmetric", [](InputStatistics& s) { s.inverse_covariance[1] = 0.1; }));
  EXPECT_TRUE(refused("distances", [](InputStatistics& s) { s.distances = {3, 2, 4}; }));
  EXPECT_TRUE(refused("samples", [](InputStatistics& s) { s.samples = 0; }));
  EXPECT_TRUE(refused("ridge", [](InputStatistics& s) { s.ridge = nan; }));
  EXPECT_TRUE(refused("5 columns, the network 6", [](InputStatistics& s) {
    s.mean.resize(5);
    s.deviation.resize(5);
    s.inverse_covariance.resize(25);
  }));
}

}  // namespace mylos::input_check_test
