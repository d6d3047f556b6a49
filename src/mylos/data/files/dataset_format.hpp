// The dataset file (HDF5) that `mylos prepare` writes and h5py reads.
//
//   /inputs   [samples, features]  uint8 or float32
//   /labels   [samples]            int32 in [0, classes): classification, or
//   /targets  [samples, outputs]   float32: regression
//   /class_names                   text: the name of each class on a separate line; `prepare images`
//   /input_names, /target_names    likewise, for columns or for the channels of a grid; `prepare csv`
//   /statistics/inputs/{mean,std,min,max} [features], /statistics/targets/... [outputs]   float64
//   /statistics/channels/{mean,std,min,max} [channels], for inputs on a grid, over all its points   float64
//   /digests/{inputs,labels,targets,statistics/...}  digests of blocks (block_digests.hpp)
//   attributes of /: format, version, classes, identity (a digest of the contents), source, shape (of one
//   sample)
//
// A file from another program needs only /inputs, and /labels with the attribute classes or /targets. Inputs
// alone are enough for prediction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mylos/base/dtype.hpp"
#include "mylos/io/files/digest.hpp"

namespace mylos {

enum class Task { classification, regression, none };  // none: inputs alone

inline constexpr std::string_view dataset_format = "mylos-dataset";
inline constexpr std::int64_t dataset_version = 1;
inline constexpr std::int64_t max_classes = 2'000'000'000;

/// The end of a message about a file that states no grid.
inline constexpr const char* how_to_give_a_grid =
    "data.shape gives it to networks of type \"cnn\", \"resnet\", \"unet\", \"fno\", \"vit\" and \"chain\": "
    "[28, 28, 1]";

/// The shape of a dataset file.
struct DatasetShape {
  Task task = Task::classification;
  DType input_type = DType::fp32;  // or uint8
  std::int64_t samples = 0;
  std::int64_t features = 0;  // numbers per sample
  std::int64_t outputs = 0;   // classes, or targets per sample; 0 = no ground truth

  /// Return the bytes of one sample's inputs and of its ground truth (label or targets), as stored.
  [[nodiscard]] std::int64_t input_bytes() const {
    return features * static_cast<std::int64_t>(size_of(input_type));
  }
  [[nodiscard]] std::int64_t truth_bytes() const { return task == Task::classification ? 4 : 4 * outputs; }
};

/// The digest that identifies a dataset: XXH3-128 over shape and contents. A restart with other data is
/// refused.
class DatasetIdentity {
 public:
  void add_inputs(const void* bytes, std::int64_t count) {
    inputs_.update(bytes, static_cast<std::size_t>(count));
  }
  void add_truth(const void* bytes, std::int64_t count) {
    truth_.update(bytes, static_cast<std::size_t>(count));
  }
  [[nodiscard]] std::string finish(const DatasetShape& shape);

 private:
  Xxh128 inputs_;
  Xxh128 truth_;
};

}  // namespace mylos
