#include "mylos/inference/rollout/field_picture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "mylos/base/numbers/random.hpp"
#include "mylos/base/numbers/random_words.hpp"

namespace mylos {
namespace {

std::int64_t thinned(std::int64_t extent, std::int64_t every) {
  return (extent + every - 1) / every;
}

void widen(FieldPicture& picture, double value, bool& is_first) {
  if (!std::isfinite(value)) return;
  picture.low = is_first ? value : std::min(picture.low, value);
  picture.high = is_first ? value : std::max(picture.high, value);
  is_first = false;
}

void set_scales(FieldPicture& picture) {
  bool is_first = true;
  for (std::size_t i = 0; i < picture.truth.size(); ++i) {
    const double truth = picture.truth[i];
    const double predicted = picture.predicted[i];
    widen(picture, truth, is_first);
    widen(picture, predicted, is_first);
    if (std::isfinite(predicted - truth)) picture.span = std::max(picture.span, std::abs(predicted - truth));
  }
}

}  // namespace

FieldPicture make_picture(std::span<const std::int64_t> extents, std::int64_t channels, std::int64_t channel,
                          std::span<const float> truth, std::span<const float> predicted,
                          const MeasureWeights& weights) {
  constexpr float blank = std::numeric_limits<float>::quiet_NaN();
  FieldPicture picture;
  std::int64_t first = 0;  // point of the plane
  std::int64_t height = 1;
  std::int64_t width = 1;
  if (!extents.empty()) width = extents.back();
  if (extents.size() > 1) height = extents[extents.size() - 2];
  if (extents.size() > 2) {
    picture.plane = extents.front() / 2;
    first = picture.plane * height * width;
  }
  const std::int64_t side = extents.size() > 1 ? max_picture_side : max_picture_line;
  picture.every = std::max<std::int64_t>(1, thinned(std::max(height, width), side));
  picture.rows = thinned(height, picture.every);
  picture.columns = thinned(width, picture.every);
  for (std::int64_t row = 0; row < height; row += picture.every) {
    for (std::int64_t column = 0; column < width; column += picture.every) {
      const auto point = static_cast<std::size_t>(first + row * width + column);
      const std::size_t index =
          point * static_cast<std::size_t>(channels) + static_cast<std::size_t>(channel);
      const bool counts = weights.at(point, static_cast<std::size_t>(channel)) > 0;
      picture.truth.push_back(counts ? truth[index] : blank);
      picture.predicted.push_back(counts ? predicted[index] : blank);
    }
  }
  set_scales(picture);
  return picture;
}

std::vector<std::uint8_t> picture_codes(std::span<const float> values, double low, double high) {
  constexpr double last = 254;
  constexpr std::uint8_t not_finite = 255;
  std::vector<std::uint8_t> codes;
  codes.reserve(values.size());
  for (const float value : values) {
    if (!std::isfinite(value)) {
      codes.push_back(not_finite);
      continue;
    }
    const double share = high > low ? (static_cast<double>(value) - low) / (high - low) : 0.5;
    codes.push_back(static_cast<std::uint8_t>(std::lround(std::clamp(share, 0.0, 1.0) * last)));
  }
  return codes;
}

std::string base64(std::span<const std::uint8_t> bytes) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t word = 0;
    for (std::size_t j = 0; j < 3; ++j) word = word << 8 | (j < count ? bytes[i + j] : 0u);
    for (std::size_t j = 0; j < 4; ++j) text += j <= count ? digits[word >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

std::vector<std::int64_t> chosen_by_seed(std::uint64_t seed, std::int64_t total, std::int64_t count) {
  const RandomStream stream(seed, RandomPurpose::sampling, "pictures");
  std::set<std::int64_t> chosen;
  for (std::uint64_t draw = 0; static_cast<std::int64_t>(chosen.size()) < std::min(count, total); ++draw) {
    const RandomBlock block = stream.block(0, draw, 0);
    const std::uint64_t word = static_cast<std::uint64_t>(block.word[0]) << 32 | block.word[1];
    chosen.insert(static_cast<std::int64_t>(word % static_cast<std::uint64_t>(total)));
  }
  return {chosen.begin(), chosen.end()};
}

}  // namespace mylos
