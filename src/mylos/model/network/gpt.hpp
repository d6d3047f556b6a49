// The decoder-only transformer of the deck (Radford et al., "Language models are unsupervised multitask
// learners", 2019): embedding, then attention1, mlp1, attention2, ..., final_norm, and the classifier "head".
#pragma once

#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// All shapes of `model` are set (vocabulary too), and heads divide its width. `accumulates`: a step has
/// several micro-batches. Throws Error (bad_input) where weights are tied and the rules give head and
/// embedding types that cannot share them.
[[nodiscard]] Chain make_gpt(const ModelOptions& model, const PrecisionOptions& precision, std::uint64_t seed,
                             bool accumulates);

/// The hidden width of a layer's feed-forward part: 4 widths for gelu; 8/3 widths, rounded up to a multiple
/// of 64, for swiglu, whose three matrices then have about as many weights as gelu's two.
[[nodiscard]] std::int64_t feed_forward_width(const ModelOptions& model);

}  // namespace mylos
