#include "mylos/data/prepare/prepare_fields.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <numbers>

#include "data/builders.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "support/said.hpp"

namespace mylos::prepare_fields_test {

using namespace testing_support;
using Wave = std::complex<double>;

constexpr std::int64_t size = 12;
constexpr std::int64_t modes = 4;

/// The discrete Fourier transform of sample `sample` at (k, l), by its definition.
Wave transform(const std::vector<float>& values, std::int64_t sample, std::int64_t k, std::int64_t l) {
  Wave sum;
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = 0; j < size; ++j) {
      const double turns = static_cast<double>(k * i + l * j) / size;
      const float value = values[static_cast<std::size_t>((sample * size + i) * size + j)];
      sum += static_cast<double>(value) * std::polar(1.0, -2 * std::numbers::pi * turns);
    }
  }
  return sum / static_cast<double>(size * size);
}

struct Fields {
  explicit Fields(std::uint64_t seed) {
    prepare(PrepareFields{.out = folder / "f.h5", .samples = 3, .size = size, .modes = modes, .seed = seed});
    const hdf5::File file = hdf5::File::open(folder / "f.h5");
    inputs.resize(3 * size * size);
    targets.resize(3 * size * size);
    file.dataset("/inputs").read(0, 3 * size * size, inputs.data());
    file.dataset("/targets").read(0, 3 * size * size, targets.data());
  }
  TemporaryFolder folder;
  std::vector<float> inputs;
  std::vector<float> targets;
};

TEST(PrepareFields, TargetsSolvePoissonsEquationForEveryMode) {
  const Fields fields(1);
  double power = 0;
  for (std::int64_t sample = 0; sample < 3; ++sample) {
    for (std::int64_t k = -size / 2; k < size / 2; ++k) {
      for (std::int64_t l = -size / 2; l < size / 2; ++l) {
        const Wave source = transform(fields.inputs, sample, k, l);
        const Wave solution = transform(fields.targets, sample, k, l);
        EXPECT_NEAR(std::abs(solution * static_cast<double>(k * k + l * l) - source), 0, 2e-6);
        const bool is_drawn = std::max(std::abs(k), std::abs(l)) <= modes && (k != 0 || l != 0);
        if (!is_drawn) {
          EXPECT_NEAR(std::abs(source), 0, 1e-6) << k << ' ' << l;
        } else {
          power += std::norm(source) * static_cast<double>(k * k + l * l);
        }
      }
    }
  }
  // A mode a cos + b sin of normal a, b has two waves of E|w|^2 = 1/2 |(k, l)|^-2: 80 modes in each sample.
  EXPECT_NEAR(power / (3 * 80), 0.5, 0.15);
}

TEST(PrepareFields, GoByTheSeed) {
  EXPECT_EQ(Fields(1).inputs, Fields(1).inputs);
  EXPECT_NE(Fields(1).inputs, Fields(2).inputs);
}

TEST(PrepareFields, AreNotBegunWhereTheDiskCannotHoldThem) {
  const TemporaryFolder folder;
  const PrepareFields job{
      .out = folder / "f.h5", .samples = std::int64_t{1} << 24, .size = 2048, .modes = 1, .seed = 1};
  const std::string message = test::refusal_of([&] { prepare(job); }, ExitCode::failed);
  EXPECT_TRUE(message.starts_with(job.out + ".tmp: the disk is full: the file needs 512 TiB (")) << message;
  EXPECT_TRUE(test::says(message, {folder.path()})) << message;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(PrepareFields, RefuseWhatAGridCannotHold) {
  const TemporaryFolder folder;
  const auto refusal = [&](std::int64_t samples, std::int64_t points, std::int64_t waves) {
    return test::refusal_of([&] {
      prepare(PrepareFields{.out = folder / "f.h5", .samples = samples, .size = points, .modes = waves});
    });
  };
  EXPECT_TRUE(test::says(refusal(0, 8, 1), errors::bad_argument, {"--samples 0", "from 1", "to 16777216"}));
  EXPECT_TRUE(test::says(refusal(1, 3, 1), errors::bad_argument, {"--size 3", "from 4", "to 2048"}));
  EXPECT_TRUE(test::says(refusal(1, 8, 4), errors::bad_argument, {"--modes 4", "from 1", "to 3", "of 8"}));
  EXPECT_FALSE(std::filesystem::exists(folder / "f.h5"));
}

}  // namespace mylos::prepare_fields_test
