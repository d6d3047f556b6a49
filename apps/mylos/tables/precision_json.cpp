#include <nlohmann/json.hpp>

#include "tables/precision_report.hpp"

namespace mylos::app {
namespace {

nlohmann::ordered_json json_of_array(const ArrayPrecision& array) {
  const ConversionSafety& safety = array.safety;
  nlohmann::ordered_json types = nlohmann::ordered_json::array();
  for (const DType type : types_to_check(array)) {
    const ConversionCounts& counts = safety.to(type);
    types.push_back({{"type", name_of(type)},
                     {"overflows", counts.overflows},
                     {"to_zero", counts.to_zero},
                     {"subnormal", counts.subnormal},
                     {"largest_error", counts.largest_error},
                     {"mean_error", counts.mean_error()},
                     {"verdict", name_of(counts.verdict())}});
  }
  nlohmann::ordered_json exponents = nlohmann::ordered_json::array();
  for (const auto& [exponent, count] : safety.exponents())
    exponents.push_back({{"exponent", exponent}, {"count", count}});
  return {{"array", array.path},       {"stored", array.stored},           {"values", safety.values},
          {"nan", safety.nans},        {"infinite", safety.infinities},    {"zero", safety.zeros},
          {"types", std::move(types)}, {"exponents", std::move(exponents)}};
}

}  // namespace

std::string precision_json(const FilePrecision& file) {
  nlohmann::ordered_json document;
  document["file"] = file.path;
  document["kind"] = file.kind;
  if (!file.normalize.empty()) document["normalize"] = file.normalize;
  document["thresholds"] = {{"most_to_zero", SafetyThresholds::most_to_zero},
                            {"most_subnormal", SafetyThresholds::most_subnormal}};
  for (const auto& [name, part] : {std::pair{"arrays", &file.arrays}, std::pair{"sums", &file.sums}}) {
    document[name] = nlohmann::ordered_json::array();
    for (const ArrayPrecision& array : *part) document[name].push_back(json_of_array(array));
  }
  document["others"] = file.others;
  // Names in files may contain any bytes; JSON must be UTF-8.
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace mylos::app
