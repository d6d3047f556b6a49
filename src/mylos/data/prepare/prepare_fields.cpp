#include "mylos/data/prepare/prepare_fields.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/numbers/random.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/data/files/dataset_writer.hpp"

namespace mylos {
namespace {

constexpr std::int64_t max_size = 2048;
constexpr std::int64_t max_samples = std::int64_t{1} << 24;

void check(const PrepareFields& job) {
  const auto require = [](bool holds, const char* option, std::int64_t value, const std::string& range) {
    if (!holds)
      fail_input(errors::bad_argument, "{} {} is out of range; it must be {}", option, value, range);
  };
  require(job.samples >= 1 && job.samples <= max_samples, "--samples", job.samples,
          fmt::format("from 1 to {}", max_samples));
  require(job.size >= 4 && job.size <= max_size, "--size", job.size, fmt::format("from 4 to {}", max_size));
  require(job.modes >= 1 && 2 * job.modes < job.size, "--modes", job.modes,
          fmt::format("from 1 to {}, as a grid of {} points resolves no finer ones", (job.size - 1) / 2,
                      job.size));
}

NormalPair normal_pair_of(const RandomBlock& words) {
  return normal_pair((words.word[0] + 1.0) / 4294967297.0, words.word[1] / 4294967296.0);
}

/// Sums Fourier modes on the grid.
class FieldMaker {
 public:
  FieldMaker(std::int64_t size, std::int64_t modes) : size_(size), modes_(modes) {
    for (std::int64_t i = 0; i < size; ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(size);
      cosine_.push_back(std::cos(angle));
      sine_.push_back(std::sin(angle));
    }
  }

  /// Draws sample `index`. Fields are real, so that half of the plane of (k, l) is enough.
  void draw(const RandomStream& stream, std::int64_t index) {
    const auto points = static_cast<std::size_t>(size_ * size_);
    source_.assign(points, 0.0);
    solution_.assign(points, 0.0);
    std::uint32_t block = 0;
    for (std::int64_t k = 0; k <= modes_; ++k) {
      for (std::int64_t l = -modes_; l <= modes_; ++l) {
        if (k == 0 && l <= 0) continue;
        const NormalPair drawn = normal_pair_of(stream.block(0, static_cast<std::uint64_t>(index), block++));
        const auto squared = static_cast<double>(k * k + l * l);
        add_mode(k, l, drawn, 1 / std::sqrt(squared), squared);
      }
    }
  }
  [[nodiscard]] const std::vector<double>& source() const { return source_; }
  [[nodiscard]] const std::vector<double>& solution() const { return solution_; }

 private:
  void add_mode(std::int64_t k, std::int64_t l, const NormalPair& drawn, double amplitude, double squared) {
    const auto size = static_cast<std::size_t>(size_);
    const auto step = static_cast<std::size_t>((l + size_) % size_);
    for (std::size_t i = 0; i < size; ++i) {
      std::size_t phase = static_cast<std::size_t>(k) * i % size;  // k i + l j, in turns / size
      for (std::size_t at = i * size; at < (i + 1) * size; ++at) {
        const double value = amplitude * (drawn.first * cosine_[phase] + drawn.second * sine_[phase]);
        source_[at] += value;
        solution_[at] += value / squared;
        phase += step;
        if (phase >= size) phase -= size;
      }
    }
  }

  std::int64_t size_;
  std::int64_t modes_;
  std::vector<double> cosine_;
  std::vector<double> sine_;
  std::vector<double> source_;
  std::vector<double> solution_;
};

}  // namespace

void prepare(const PrepareFields& job) {
  check(job);
  const std::int64_t points = job.size * job.size;
  const DatasetShape shape{.task = Task::regression,
                           .input_type = DType::fp32,
                           .samples = job.samples,
                           .features = points,
                           .outputs = points};
  DatasetWriter writer(job.out, shape, fmt::format("fields {}", job.seed),
                       fmt::format("{} {} 1", job.size, job.size));
  const RandomStream stream(job.seed, RandomPurpose::fields, "fields");
  FieldMaker maker(job.size, job.modes);
  for (std::int64_t sample = 0; sample < job.samples; ++sample) {
    maker.draw(stream, sample);
    const std::vector<float> inputs(maker.source().begin(), maker.source().end());
    const std::vector<float> targets(maker.solution().begin(), maker.solution().end());
    writer.add_inputs(inputs.data(), 1);
    writer.add_targets(targets.data(), 1);
  }
  writer.finish();
}

}  // namespace mylos
