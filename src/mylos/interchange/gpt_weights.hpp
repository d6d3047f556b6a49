// GptWeights: the weights of a GPT in host memory, for the conversion between two file formats.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mylos/base/dtype.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/model/block.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

struct GptWeights {
  ModelOptions model;           // all options set
  std::int64_t vocabulary = 0;  // number of tokens; the model's own may be padded to a round number
  DType type = DType::fp32;     // of the stored network
  std::map<std::string, std::vector<float>> parameters;  // by path: "attention1/qkv_weight"
};

struct GptParameter {
  std::string path;
  ParameterSpec spec;
};

/// Returns the parameters of a GPT of this shape.
[[nodiscard]] std::vector<GptParameter> gpt_parameters(const ModelOptions& model);

/// Throws Error (does_not_fit) unless the host has enough memory for all parameters.
void require_memory(const std::vector<GptParameter>& parameters, const std::string& path);

/// Reads the network of a checkpoint. Throws Error (bad_input) if it is not a GPT.
[[nodiscard]] GptWeights read_checkpoint_weights(RankGroup& ranks, const std::string& path);

/// Returns the resolved deck with which such a network is evaluated and trained further, checked like any
/// deck. Throws Error (bad_input) if a deck cannot describe the network.
[[nodiscard]] std::string deck_of(const GptWeights& weights, const std::string& path);

/// Writes a checkpoint at step 0 for evaluation and sampling. It has no optimizer state, so that no run can
/// resume from it.
void write_checkpoint_weights(RankGroup& ranks, GptWeights& weights, const std::string& path);

}  // namespace mylos
