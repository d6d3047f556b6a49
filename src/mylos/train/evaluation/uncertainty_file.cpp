#include "mylos/train/evaluation/uncertainty_file.hpp"

#include <nlohmann/json.hpp>

#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {

void write_uncertainty_file(const std::string& path, std::int64_t step, const std::string& split,
                            const UncertaintyResult& result) {
  using nlohmann::ordered_json;
  const UncertaintyResult::Deviations& found = *result.deviations;
  ordered_json curve = ordered_json::array();
  for (const auto& [nominal, observed] : found.curve)
    curve.push_back(ordered_json::array({nominal, observed}));
  const ordered_json document{{"format", "mylos-uncertainty"},
                              {"version", 1},
                              {"step", step},
                              {"split", split},
                              {"samples", result.samples},
                              {"coverage", std::move(curve)},
                              {"calibration_error", found.calibration_error},
                              {"rms_calibration_error", found.rms_calibration_error},
                              {"miscalibration_area", found.miscalibration_area},
                              {"sharpness", found.sharpness},
                              {"crps", found.crps}};
  publish_text(path, document.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + '\n');
}

}  // namespace mylos
