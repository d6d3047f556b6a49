// The decoder-only transformer of the deck (Radford et al., "Language models are unsupervised multitask
// learners", 2019): embedding, then attention1, mlp1, attention2, ..., final_norm, and the classifier "head".
#pragma once

#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// Makes the chain. All shapes of `model` must be set (vocabulary too), and heads must divide its width.
/// `accumulates`: a step has several micro-batches. Throws Error (bad_input) if weights are tied and the
/// rules give head and embedding types that cannot share them.
[[nodiscard]] Chain make_gpt(const ModelOptions& model, const PrecisionOptions& precision, std::uint64_t seed,
                             bool accumulates);

/// Returns the hidden width of a layer's feed-forward part: 4 widths for gelu; for swiglu 8/3 widths, rounded
/// up to a multiple of 64, so that its three matrices have about as many weights as gelu's two.
[[nodiscard]] std::int64_t feed_forward_width(const ModelOptions& model);

}  // namespace mylos
