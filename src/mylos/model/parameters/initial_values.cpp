#include "mylos/model/parameters/initial_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mylos/base/dtype_limits.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/model/parameters/parameter_names.hpp"
#include "mylos/precision/policy.hpp"

namespace mylos {
namespace {

bool is_for_matrices(Initializer kind) {
  return kind != Initializer::normal && kind != Initializer::uniform && kind != Initializer::constant;
}

bool matches(const InitialRule& rule, const std::string& path) {
  return std::any_of(rule.match.begin(), rule.match.end(),
                     [&](const std::string& pattern) { return matches_pattern(pattern, path); });
}

/// Returns the pair for columns `column` (even) and `column` + 1: columns 4b to 4b + 3 of a row share a
/// block.
NormalPair normal_pair_of(const RandomStream& stream, std::int64_t row, std::int64_t column) {
  const RandomBlock block =
      stream.block(0, static_cast<std::uint64_t>(row), static_cast<std::uint32_t>(column / 4));
  const auto uniform = [](std::uint32_t word) { return (word + 0.5) / 4294967296.0; };
  const std::int64_t first = column % 4;
  return normal_pair(uniform(block.word[first]), uniform(block.word[first + 1]));
}

/// Returns the dot product, summed in four lanes in a fixed order, so that one thread is fast enough.
double dot(const double* a, const double* b, std::int64_t count) {
  double lanes[4] = {};
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int lane = 0; lane < 4; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < count; ++i) lanes[0] += a[i] * b[i];
  return lanes[0] + lanes[1] + (lanes[2] + lanes[3]);
}

/// Makes `vectors` contiguous vectors of `length` orthonormal. Two passes are enough (Giraud, Langou,
/// Rozloznik, van den Eshof, Numer. Math. 101, 2005).
void orthonormalize(std::vector<double>& values, std::int64_t vectors, std::int64_t length) {
  for (std::int64_t i = 0; i < vectors; ++i) {
    double* own = values.data() + i * length;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t before = 0; before < i; ++before) {
        const double* other = values.data() + before * length;
        const double share = dot(own, other, length);
        for (std::int64_t k = 0; k < length; ++k) own[k] -= share * other[k];
      }
    }
    const double norm = std::sqrt(dot(own, own, length));
    for (std::int64_t k = 0; k < length; ++k) own[k] /= norm;
  }
}

/// Refuses constants that overflow: with inf as a weight every step would be skipped. The values of the other
/// kinds are far smaller.
void require_finite_constant(const std::string& where, const std::string& path, DType type,
                             const InitialRule& rule) {
  const double largest = limits_of(type).largest;
  if (rule.kind != Initializer::constant || std::abs(rule.value) <= largest) return;
  fail_input(errors::bad_value,
             "{}: {} computes in {}, whose largest number is {:g}, and its 'value' is {:g}", where, path,
             name_of(type), largest, rule.value);
}

}  // namespace

const InitialRule* rule_of(std::span<const InitialRule> rules, const std::string& path) {
  const InitialRule* last = nullptr;
  for (const InitialRule& rule : rules) {
    if (matches(rule, path)) last = &rule;
  }
  return last;
}

ParameterSpec with_initial_values(ParameterSpec spec, const InitialRule& rule) {
  const auto fan_in = static_cast<double>(spec.fan_in > 0 ? spec.fan_in : spec.columns);
  const auto fan_out = static_cast<double>(spec.fan_out > 0 ? spec.fan_out : spec.rows * spec.taps);
  const double gain = rule.gain.value_or(1);
  const double he_gain = rule.gain.value_or(std::sqrt(2.0));
  spec.initial_bound = spec.initial_std = spec.initial_value = 0;
  switch (rule.kind) {
    case Initializer::xavier_uniform:
      spec.initial_bound = static_cast<float>(gain * std::sqrt(6 / (fan_in + fan_out)));
      break;
    case Initializer::xavier_normal:
      spec.initial_std = static_cast<float>(gain * std::sqrt(2 / (fan_in + fan_out)));
      break;
    case Initializer::he_uniform:
      spec.initial_bound = static_cast<float>(he_gain * std::sqrt(3 / fan_in));
      break;
    case Initializer::he_normal:
      spec.initial_std = static_cast<float>(he_gain / std::sqrt(fan_in));
      break;
    case Initializer::orthogonal:
      break;
    case Initializer::normal:
      spec.initial_std = static_cast<float>(rule.std);
      break;
    case Initializer::uniform:
      spec.initial_bound = static_cast<float>(rule.bound);
      break;
    case Initializer::constant:
      spec.initial_value = static_cast<float>(rule.value);
      break;
  }
  return spec;
}

std::vector<float> orthogonal_matrix(const RandomStream& stream, std::int64_t rows, std::int64_t columns,
                                     double gain) {
  const bool by_rows = rows <= columns;
  const std::int64_t vectors = std::min(rows, columns);
  const std::int64_t length = std::max(rows, columns);
  std::vector<double> basis(static_cast<std::size_t>(rows * columns));
  const auto place = [&](std::int64_t row, std::int64_t column) {
    return static_cast<std::size_t>(by_rows ? row * length + column : column * length + row);
  };
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; column += 2) {
      const NormalPair drawn = normal_pair_of(stream, row, column);
      basis[place(row, column)] = drawn.first;
      if (column + 1 < columns) basis[place(row, column + 1)] = drawn.second;
    }
  }
  orthonormalize(basis, vectors, length);
  std::vector<float> values(basis.size());
  std::size_t next = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column)
      values[next++] = static_cast<float>(gain * basis[place(row, column)]);
  }
  return values;
}

void require_initial_rules_apply(const Chain& chain, const ModelOptions& model, const Places& places) {
  if (model.initialize.empty()) return;
  const std::vector<std::string> names = parameter_names(chain);
  const auto where = [&](const InitialRule& rule) {
    const auto number = &rule - model.initialize.data() + 1;
    return place_of(places, {fmt::format("model.initialize.{}", number), "model.initialize"}) +
           "model.initialize";
  };
  for (const InitialRule& rule : model.initialize) {
    for (const std::string& pattern : rule.match) require_match(where(rule), pattern, names);
  }
  for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
    for (const ParameterSpec& spec : chain.stage_parameters(stage)) {
      const std::string path = chain.stage_name(stage) + "/" + spec.name;
      const InitialRule* rule = rule_of(model.initialize, path);
      if (rule == nullptr) continue;
      require_finite_constant(where(*rule), path, spec.type, *rule);
      if (rule->kind == Initializer::orthogonal && chain.signature(stage).kind == "spectral" &&
          spec.is_matrix) {
        fail_input(
            errors::bad_value,
            "{}: {} has a complex matrix for each mode in its rows, and \"orthogonal\" is for one real "
            "matrix; leave the spectral layers out of 'match', or take \"xavier_normal\" or \"normal\"",
            where(*rule), path);
      }
      if (spec.is_matrix || !is_for_matrices(rule->kind)) continue;
      fail_input(
          errors::bad_value,
          "{}: {} is a vector of {}, and its 'kind' is for matrices; match \"*weight\" of layers that have "
          "them, or take \"normal\", \"uniform\" or \"constant\"",
          where(*rule), path, spec.columns);
    }
  }
}

}  // namespace mylos
