#include "mylos/precision/scaler_presets.hpp"

#include <string>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"

namespace mylos {

ScalerOptions scaler_preset(std::string_view name) {
  std::string names;
  for (const ScalerPreset& preset : scaler_presets) {
    if (preset.name == name) {
      ScalerOptions options;
      preset.apply(options);
      return options;
    }
    names.append(names.empty() ? "" : ", ").append(preset.name);
  }
  fail_input(errors::bad_call, "scaler_preset: '{}' is not a preset of the loss scaler; there are {}", name,
             names);
}

}  // namespace mylos
