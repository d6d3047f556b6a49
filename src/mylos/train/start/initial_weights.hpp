// InitialWeights: the weights that a run begins with, taken from a file (run.initial, [initial]) in place of
// those that are drawn. Weights alone: moments, step, loss scale and schedule begin afresh.
//
// Running statistics come with them, where the file has them.
//
// A parameter is taken where a pattern of `include` matches it and none of `exclude` does. Its tensor is the
// one that has its name in the file, by a rule of `rename` or as the file names it ("hidden1/weight" in
// checkpoints, "hidden1.weight" in safetensors), with the same shape. Rank 0 reads, all get the same.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/places.hpp"
#include "mylos/checkpoint/file/weight_file.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/config/options.hpp"
#include "mylos/model/chain/chain.hpp"
#include "mylos/model/parameters/channels_first.hpp"
#include "mylos/train/start/initial_normalization.hpp"

namespace mylos {

class BufferStore;
class ParameterStore;
class Trainer;

class InitialWeights {
 public:
  /// All ranks. Opens the file and finds what is taken, for which no memory is. Throws Error (bad_input) on
  /// all ranks: for a pattern that matches nothing, a tensor of another shape or with other numbers than
  /// floats, two tensors for one parameter, parameters that the file lacks where these are not to be drawn,
  /// and a file whose deck says that its network computes otherwise with what is taken (initial_meaning.hpp).
  /// `places`: of the deck.
  InitialWeights(RankGroup& ranks, const Options& options, const Chain& chain, const Places& places = {});

  /// Returns the scalings of inputs and targets that the run keeps of the file (initial_normalization.hpp);
  /// lines() then names them. `options`: with the sizes of the data, which `here` describes.
  [[nodiscard]] GivenScalings kept_scalings(const Options& options, const SampleMeaning& here,
                                            const Places& places = {});

  /// What is taken from where, and what is drawn or not used, as lines of a log: at most `most` tensors and
  /// names of each kind; the others are counted.
  [[nodiscard]] std::vector<std::string> lines(std::size_t most = 12) const;

  /// All ranks, before the first step. Masters and compute weights of the network, and the average of its
  /// weights where there is one.
  void load(Trainer& trainer);
  /// All ranks. The same of what a rank holds of masters (without masters, weights) and running statistics;
  /// weights that follow from masters are not computed.
  void load(const ParameterStore& parameters, const BufferStore& buffers, const Execution& exec);

 private:
  struct Taken {
    std::string path;                      // the parameter's, "hidden1/weight"
    std::size_t entry;                     // of the file
    std::optional<ChannelsFirst> in_file;  // where its numbers lie otherwise there
  };

  [[nodiscard]] std::vector<TakenLayer> taken_layers() const;
  void find(const Options& options, const Chain& chain, const Places& places);
  void compare_networks(const Options& options, const Places& places);
  void load(const Taken& taken, const ParameterStore& parameters, const BufferStore& buffers,
            const Execution& exec);

  RankGroup& ranks_;
  WeightFile file_;
  std::vector<Taken> taken_;         // in the network's order
  std::vector<std::string> drawn_;   // parameters
  std::vector<std::string> unused_;  // tensors of the file
  std::vector<std::string> notes_;   // of the comparison with the file's deck
  StoredScaling scaling_;            // of the file
  std::string normalization_;        // a line on what the run keeps of it
};

}  // namespace mylos
