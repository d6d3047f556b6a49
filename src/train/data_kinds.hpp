// The kinds of data that a run learns from.
#pragma once

#include "mylos/train/run_data.hpp"

namespace mylos {

/// Labelled samples, for model.type = "mlp".
[[nodiscard]] std::unique_ptr<RunData> open_sample_data(const Options& options);
/// Windows of tokens, for model.type = "gpt".
[[nodiscard]] std::unique_ptr<RunData> open_token_data(const Options& options);

}  // namespace mylos
