#include "commands/prediction_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"

namespace mylos::app {

std::vector<PredictionArray> PredictionParts::arrays() const {
  std::vector<PredictionArray> all{{PredictionPart::mean}};
  if (has_deviation) all.push_back({PredictionPart::standard_deviation});
  if (coverage) {
    all.push_back({PredictionPart::lower});
    all.push_back({PredictionPart::upper});
  }
  for (std::size_t i = 0; i < quantiles.size(); ++i)
    all.push_back({PredictionPart::quantile, static_cast<std::int64_t>(i)});
  for (std::int64_t i = 0; i < members; ++i) all.push_back({PredictionPart::member, i});
  return all;
}

std::size_t PredictionParts::index_of(const PredictionArray& array) const {
  const std::vector<PredictionArray> all = arrays();
  const auto found = std::find(all.begin(), all.end(), array);
  if (found == all.end())
    fail_run(errors::internal, "the file of predictions has no part '{}'", array_suffix(array));
  return static_cast<std::size_t>(found - all.begin());
}

std::string PredictionParts::array_suffix(const PredictionArray& array) const {
  switch (array.part) {
    case PredictionPart::standard_deviation:
      return "_standard_deviation";
    case PredictionPart::quantile:
      return fmt::format("_q{}", quantiles[static_cast<std::size_t>(array.member)]);
    case PredictionPart::lower:
      return "_lower";
    case PredictionPart::upper:
      return "_upper";
    case PredictionPart::member:
      return fmt::format("_member_{}", array.member);
    case PredictionPart::mean:
      break;
  }
  return "";
}

std::string PredictionParts::column_suffix(const PredictionArray& array) const {
  return array.part == PredictionPart::standard_deviation ? "_sd" : array_suffix(array);
}

}  // namespace mylos::app
