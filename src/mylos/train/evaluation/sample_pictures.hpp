// SamplePictures: true and predicted fields of a few samples that an evaluation comes by, for the report.
//
// Networks for regression whose outputs lie on a grid have them. The samples are chosen by the seed of the
// run, so every evaluation shows the same ones.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mylos/base/device/memory_entry.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/data/feed/batch.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/inference/context.hpp"
#include "mylos/inference/rollout/field_picture.hpp"

namespace mylos {

class SamplePictures {
 public:
  /// Returns whether outputs of such a network are fields.
  [[nodiscard]] static bool supports(const Chain& chain);

  /// `samples`: of the part of the data that is evaluated. `normalizer` must outlive the object. `upward`: as
  /// in FieldPicture.
  SamplePictures(const Chain& chain, std::uint64_t seed, std::int64_t samples, const Normalizer& normalizer,
                 std::vector<std::string> names, bool upward);

  /// Copies the outputs of chosen samples of the batch on which the network has just run.
  void observe(const StepContext& step, const ForwardPass& model, const Batch& batch);
  /// All ranks, after the last batch. Returns the pictures on rank 0, and nothing on others; forgets them.
  [[nodiscard]] std::vector<FieldPicture> gather(RankGroup& ranks);

  /// Returns the memory of the pictures of an evaluation of such a network, if any part of the data is
  /// evaluated: the fields on the host, and a sample's outputs while they are converted.
  [[nodiscard]] static PartMemory memory(const Chain& chain, bool is_evaluated);

 private:
  struct Taken {
    std::int64_t sample = 0;
    std::vector<float> predicted;  // in the units of the data; empty if another rank has it
    std::vector<float> truth;
  };

  const Normalizer& normalizer_;
  std::vector<std::string> names_;  // of channels
  std::vector<std::int64_t> extents_;
  bool upward_;
  std::int64_t channels_;
  std::int64_t outputs_;
  std::shared_ptr<const PointWeights> weights_;  // null: all points count
  std::vector<Taken> chosen_;
};

}  // namespace mylos
