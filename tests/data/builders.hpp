// Small dataset files in which every value encodes its position.
#pragma once

#include <string>
#include <vector>

#include "io/support.hpp"
#include "mylos/data/files/dataset.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos::testing_support {

inline std::uint8_t pixel(std::int64_t sample, std::int64_t feature) {
  return static_cast<std::uint8_t>((sample * 31 + feature * 7) % 256);
}
inline std::int32_t label_of(std::int64_t sample, std::int64_t class_count) {
  return static_cast<std::int32_t>(sample % class_count);
}

/// Bytes as inputs, as h5py writes them: no statistics, no identity.
inline std::string write_images(const std::string& path, std::int64_t samples, std::int64_t columns,
                                std::int64_t class_count) {
  std::vector<std::uint8_t> inputs;
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < samples; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) inputs.push_back(pixel(i, j));
    labels.push_back(label_of(i, class_count));
  }
  auto file = hdf5::File::create(path);
  file.create_dataset("/inputs", DType::uint8, {samples, columns}).write(0, samples * columns, inputs.data());
  file.create_dataset("/labels", DType::int32, {samples}).write(0, samples, labels.data());
  file.write_attribute("/", "classes", class_count);
  file.close();
  return path;
}

inline float measured(std::int64_t sample, std::int64_t column) {
  return static_cast<float>(100 + 10 * column) + 0.25f * static_cast<float>((sample * 17 + column) % 64);
}

/// Floats as inputs and targets; target column c holds measured(sample, columns + c).
inline std::string write_table(const std::string& path, std::int64_t samples, std::int64_t columns,
                               std::int64_t outputs) {
  std::vector<float> inputs;
  std::vector<float> targets;
  for (std::int64_t i = 0; i < samples; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) inputs.push_back(measured(i, j));
    for (std::int64_t j = 0; j < outputs; ++j) targets.push_back(measured(i, columns + j));
  }
  auto file = hdf5::File::create(path);
  file.create_dataset("/inputs", DType::fp32, {samples, columns}).write(0, samples * columns, inputs.data());
  file.create_dataset("/targets", DType::fp32, {samples, outputs})
      .write(0, samples * outputs, targets.data());
  file.close();
  return path;
}

}  // namespace mylos::testing_support
