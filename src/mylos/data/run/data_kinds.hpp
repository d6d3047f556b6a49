// The kinds of training data.
#pragma once

#include "mylos/data/run/run_data.hpp"

namespace mylos {

/// Opens labelled samples, for networks of other types than "gpt"; samples without answers if these are
/// optional.
[[nodiscard]] std::unique_ptr<RunData> open_sample_data(const Options& options, Answers answers,
                                                        const Places& places);
/// Opens windows of tokens, for model.type = "gpt".
[[nodiscard]] std::unique_ptr<RunData> open_token_data(const Options& options);

}  // namespace mylos
