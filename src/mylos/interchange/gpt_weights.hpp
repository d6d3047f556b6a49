// GptWeights: a GPT on its way between two file formats, in host memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mylos/base/dtype.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/model/block/block.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

struct GptWeights {
  ModelOptions model;           // complete
  std::int64_t vocabulary = 0;  // tokens that there are; the model's own may be padded to a round number
  DType type = DType::fp32;     // that the network was stored in
  std::map<std::string, std::vector<float>> parameters;  // by path: "attention1/qkv_weight"
};

struct GptParameter {
  std::string path;
  ParameterSpec spec;
};

/// What a GPT of this shape consists of.
[[nodiscard]] std::vector<GptParameter> gpt_parameters(const ModelOptions& model);

/// Throws Error (does_not_fit) unless the host has memory for all parameters.
void require_memory(const std::vector<GptParameter>& parameters, const std::string& path);

/// The network of a checkpoint. Throws Error (bad_input) if it is no GPT.
[[nodiscard]] GptWeights read_checkpoint_weights(RankGroup& ranks, const std::string& path);

/// The deck under which such a network is evaluated and goes on being one: resolved, and checked as any deck
/// is. Throws Error (bad_input) if a deck cannot describe the network.
[[nodiscard]] std::string deck_of(const GptWeights& weights, const std::string& path);

/// A checkpoint at step 0 that can be evaluated and sampled from. It holds no optimizer: no run restarts from
/// it.
void write_checkpoint_weights(RankGroup& ranks, GptWeights& weights, const std::string& path);

}  // namespace mylos
