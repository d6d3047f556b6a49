// The kinds of data that a run learns from.
#pragma once

#include "mylos/data/run/run_data.hpp"

namespace mylos {

/// Labelled samples, for networks of other types than "gpt"; their inputs alone, where no answers are needed.
[[nodiscard]] std::unique_ptr<RunData> open_sample_data(const Options& options, Answers answers,
                                                        const Places& places);
/// Windows of tokens, for model.type = "gpt".
[[nodiscard]] std::unique_ptr<RunData> open_token_data(const Options& options);

}  // namespace mylos
