// SamplePictures: true and predicted fields of a few samples that an evaluation comes by, for the report.
//
// Networks for regression whose outputs lie on a grid have them. The samples are chosen by the seed of the
// run, so every evaluation shows the same ones. Where ranks share samples, each has its box of their fields.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mylos/base/device/memory_entry.hpp"
#include "mylos/base/numbers/grid_box.hpp"
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

  /// `chain`: of a rank, as the rows of `normalizer`, which must outlive the object. `samples`: of the part
  /// of the data that is evaluated. `upward`: as in FieldPicture. `part`: of this rank.
  SamplePictures(const Chain& chain, std::uint64_t seed, std::int64_t samples, const Normalizer& normalizer,
                 std::vector<std::string> names, bool upward, const GridPart& part = {});

  /// Copies the outputs of chosen samples of the batch on which the network has just run.
  void observe(const StepContext& step, const ForwardPass& model, const Batch& batch);
  /// All ranks, after the last batch. Returns the pictures on rank 0, and nothing on others; forgets them.
  [[nodiscard]] std::vector<FieldPicture> gather(RankGroup& ranks);

  /// Returns the memory of the pictures of an evaluation of such a network, if any part of the data is
  /// evaluated: the fields on the host, those of whole samples where there are several boxes, and a sample's
  /// outputs while they are converted.
  [[nodiscard]] static PartMemory memory(const Chain& chain, bool is_evaluated, std::int64_t boxes);

 private:
  struct Taken {
    std::int64_t sample = 0;
    std::vector<float> predicted;  // in the units of the data; empty if another rank has it
    std::vector<float> truth;
  };

  /// All ranks. Returns the field of the whole sample on rank 0, of which the ranks from `first` on have the
  /// boxes: `own`, with `of_point` numbers of each point.
  [[nodiscard]] std::vector<float> whole(RankGroup& ranks, std::vector<float> own, int first,
                                         std::int64_t of_point) const;

  const Normalizer& normalizer_;
  std::vector<std::string> names_;     // of channels
  std::vector<GridBox> boxes_;         // of the ranks that share a sample
  std::vector<std::int64_t> extents_;  // of the whole grid
  bool upward_;
  std::int64_t channels_;
  std::int64_t outputs_;
  std::shared_ptr<const PointWeights> weights_;  // of the box; null: all points count
  std::vector<Taken> chosen_;
};

}  // namespace mylos
