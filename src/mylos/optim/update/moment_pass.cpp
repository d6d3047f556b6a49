#include "mylos/optim/update/moment_pass.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/launch/tile_values.hpp"
#include "mylos/optim/update/exponent_bins.hpp"
#include "mylos/precision/neighbour_squares.hpp"

namespace mylos {
namespace {

constexpr std::int64_t neighbours = TrustRatios::neighbours;
static_assert(UpdatePass::block_elements % neighbours == 0);
static_assert(runs_on_host || neighbours % tile_width == 0);

// After this many blocks a host thread adds its sums to the parameter's, which all threads share.
constexpr std::int64_t blocks_of_row = runs_on_host ? 4 : 1;
static_assert(blocks_of_row * UpdatePass::block_elements / neighbours <= ExponentBins::max_terms);

/// Input of all rows of the pass.
struct MomentRows {
  UpdateRule rule;
  std::int64_t blocks;
  const UpdateSpan* spans;
  std::size_t span_count;
  const UpdateControl* control;
  std::int64_t* sums;
  std::int32_t* block_digits;
};

/// The elements of a block in each of the arenas.
template <class Gradient, class Weight>
struct MomentBlock {
  std::int64_t count;
  const Gradient* gradient;
  const Weight* weight;
  float* m;
  float* v;
  Lamb formula;

  KOKKOS_INLINE_FUNCTION MomentBlock(const UpdateRule& rule, const UpdateSpan& span,
                                     const UpdateControl& control, std::int64_t first)
      : count(launch::smaller(UpdatePass::block_elements, span.count - first)),
        gradient(static_cast<const Gradient*>(span.gradient) + first),
        weight(static_cast<const Weight*>(span.master != nullptr ? span.master : span.weight) + first),
        m(span.m + first),
        v(span.v + first),
        formula(rule, span, control) {}
};

/// Sums of squares over neighbours, in double.
struct Squares {
  double weights = 0;
  double directions = 0;
};

/// Adds the squares to digits by add(digit, value).
template <class Add>
KOKKOS_FORCEINLINE_FUNCTION void add_digits(const Squares& squares, const Add& add) {
  if (!Kokkos::isfinite(squares.weights) || !Kokkos::isfinite(squares.directions)) {
    add(NormDigits::not_finite, 1);
    return;
  }
  ExactSum::for_each_digit(squares.weights, [&](const int digit, const std::int32_t value) {
    add(NormDigits::weights + digit, value);
  });
  ExactSum::for_each_digit(squares.directions, [&](const int digit, const std::int32_t value) {
    add(NormDigits::directions + digit, value);
  });
}

/// Elements that a host thread updates before it sums.
constexpr std::int64_t strip = 8 * neighbours;

struct Strip {
  float weights[strip];
  float directions[strip];
};

template <class Gradient, class Weight>
inline void update_strip(const MomentBlock<Gradient, Weight>& block, std::int64_t first, std::int64_t count,
                         Strip& updated) {
  const Lamb formula = block.formula;  // a local copy that no store can alias: it stays in registers
  const Gradient* gradient = block.gradient + first;
  const Weight* weight = block.weight + first;
  float* m = block.m + first;
  float* v = block.v + first;
  float* weights = updated.weights;
  float* directions = updated.directions;
  simd_for(0, count, [=](const std::int64_t i) {
    float new_m = m[i];
    float new_v = v[i];
    const float now = to_float(weight[i]);
    formula.update_moments(to_float(gradient[i]), new_m, new_v);
    m[i] = new_m;
    v[i] = new_v;
    weights[i] = now;
    directions[i] = formula.direction(now, new_m, new_v);
  });
  for (std::int64_t i = count; i < strip; ++i) weights[i] = directions[i] = 0.0f;
}

/// The version for devices.
template <class Gradient, class Weight>
KOKKOS_FORCEINLINE_FUNCTION Squares update_neighbours_by_tiles(const MomentBlock<Gradient, Weight>& block,
                                                               std::int64_t first) {
  Squares squares;
  const std::int64_t end = launch::smaller(first + neighbours, block.count);
  for (std::int64_t tile = first; tile < end; tile += tile_width) {
    const std::int64_t length = launch::smaller(tile_width, end - tile);
    float gradients[tile_width];
    float weights[tile_width];
    float m[tile_width];
    float v[tile_width];
    device_tile::read(block.gradient + tile, length, gradients);
    device_tile::read(block.weight + tile, length, weights);
    device_tile::read(block.m + tile, length, m);
    device_tile::read(block.v + tile, length, v);
    for_each_in_tile(length, [&](const std::int64_t i) {
      block.formula.update_moments(gradients[i], m[i], v[i]);
      const auto weight = static_cast<double>(weights[i]);
      const auto direction = static_cast<double>(block.formula.direction(weights[i], m[i], v[i]));
      squares.weights += weight * weight;
      squares.directions += direction * direction;
    });
    device_tile::write(m, length, block.m + tile);
    device_tile::write(v, length, block.v + tile);
  }
  return squares;
}

/// The sums of a host thread over blocks of one parameter.
class OwnSums {
 public:
  template <class Block>
  void add(const Block& block) {
    Strip updated;
    for (std::int64_t first = 0; first < block.count; first += strip) {
      update_strip(block, first, launch::smaller(strip, block.count - first), updated);
      for (std::int64_t i = 0; i < strip; i += neighbours) {
        const bool is_finite = weights_.add(squares_of_neighbours(updated.weights + i, neighbours)) &&
                               directions_.add(squares_of_neighbours(updated.directions + i, neighbours));
        not_finite_ += is_finite ? 0 : 1;
      }
    }
  }
  void flush(std::int64_t* sums) {
    drain_digits(weights_, sums + NormDigits::weights);
    drain_digits(directions_, sums + NormDigits::directions);
    if (not_finite_ > 0) Kokkos::atomic_add(sums + NormDigits::not_finite, not_finite_);
    not_finite_ = 0;
  }

 private:
  static void drain_digits(ExponentBins& bins, std::int64_t* sums) {
    std::int64_t digits[ExactSum::digit_count] = {};
    bins.drain_digits([&](const int digit, const std::int32_t value) { digits[digit] += value; });
    for (int i = 0; i < ExactSum::digit_count; ++i) {
      if (digits[i] != 0) Kokkos::atomic_add(sums + i, digits[i]);
    }
  }

  ExponentBins weights_;
  ExponentBins directions_;
  std::int64_t not_finite_ = 0;
};

template <class Gradient, class Weight>
inline void update_row(const MomentRows& rows, const UpdateControl& now, std::int64_t index, const HostRow&) {
  OwnSums own;
  const UpdateSpan* before = nullptr;
  const auto flush = [&] {
    if (before != nullptr) own.flush(rows.sums + before->slot * std::int64_t{NormDigits::count});
  };
  const std::int64_t end = launch::smaller((index + 1) * blocks_of_row, rows.blocks);
  for (std::int64_t block = index * blocks_of_row; block < end; ++block) {
    const UpdateSpan& span = span_of(rows.spans, rows.span_count, block);
    if (span.frozen) continue;
    if (before != &span) flush();
    before = &span;
    own.add(MomentBlock<Gradient, Weight>(rows.rule, span, now,
                                          (block - span.first_block) * UpdatePass::block_elements));
  }
  flush();
}

/// One device thread handles neighbours. The threads of a row first add to the block's digits: with one set
/// of digits per block few threads collide.
template <class Gradient, class Weight, class Lanes>
KOKKOS_FORCEINLINE_FUNCTION void update_row(const MomentRows& rows, const UpdateControl& now,
                                            std::int64_t index, const RowOfLanes<Lanes>& row) {
  const UpdateSpan& span = span_of(rows.spans, rows.span_count, index);
  if (span.frozen) return;
  const MomentBlock<Gradient, Weight> block(rows.rule, span, now,
                                            (index - span.first_block) * UpdatePass::block_elements);
  std::int32_t* digits = rows.block_digits + index * NormDigits::count;
  row.for_each(launch::ceiling_quotient(block.count, neighbours), [&](const std::int64_t group) {
    add_digits(update_neighbours_by_tiles(block, group * neighbours),
               [&](const int digit, const std::int32_t value) { Kokkos::atomic_add(digits + digit, value); });
  });
  row.barrier();
  std::int64_t* sums = rows.sums + span.slot * std::int64_t{NormDigits::count};
  row.for_each(NormDigits::count, [&](const std::int64_t digit) {
    const std::int32_t value = Kokkos::atomic_exchange(digits + digit, 0);
    if (value != 0) Kokkos::atomic_add(sums + digit, std::int64_t{value});
  });
}

template <class Gradient, class Weight>
void update_rows(const Execution& exec, const MomentRows& rows) {
  for_each_row(
      exec, "moments", launch::ceiling_quotient(rows.blocks, blocks_of_row),
      KOKKOS_LAMBDA(const std::int64_t index, const Row& row) {
        const UpdateControl now = *rows.control;
        if (now.apply == 0) return;
        update_row<Gradient, Weight>(rows, now, index, row);
      });
}

}  // namespace

void update_moments(const Execution& exec, const PassWork& work, const TrustRatios& ratios) {
  const MomentRows rows{work.rule,    work.blocks,   work.spans.data(),    work.spans.size(),
                        work.control, ratios.sums(), ratios.block_digits()};
  const DType updated = work.types.has_masters ? DType::fp32 : work.types.weight;
  dispatch(work.types.gradient, [&]<class G>(TypeTag<G>) {
    dispatch(updated, [&]<class W>(TypeTag<W>) { update_rows<G, W>(exec, rows); });
  });
}

}  // namespace mylos
