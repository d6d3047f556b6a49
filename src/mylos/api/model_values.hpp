// Options and descriptions of models, between mylos.h and C++.
#pragma once

#include <cstdint>

#include "mylos/inference/model.hpp"
#include "mylos/mylos.h"

namespace mylos::api {

/// `given` may be null.
[[nodiscard]] LoadOptions load_options_of(const mylos_load_options* given);
/// `call`: for messages.
[[nodiscard]] Units units_of(std::int32_t units, const char* call);
[[nodiscard]] mylos_bytes bytes_of(const InferenceBytes& bytes);
[[nodiscard]] mylos_model_info info_of(const Model& model);

}  // namespace mylos::api
