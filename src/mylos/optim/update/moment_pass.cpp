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

// A host thread adds its sums to those of the parameter, which all threads share, after so many blocks.
constexpr std::int64_t blocks_of_row = runs_on_host ? 4 : 1;
static_assert(blocks_of_row * UpdatePass::block_elements / neighbours <= ExponentBins::max_terms);

/// What all rows of the pass read.
struct MomentRows {
  UpdateRule rule;
  std::int64_t blocks;
  const UpdateSpan* spans;
  std::size_t span_count;
  const UpdateControl* control;
  std::int64_t* sums;
  std::int32_t* places;
};

/// A block's elements in each of the arenas.
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

/// Of neighbours, in double.
struct Squares {
  double weights = 0;
  double directions = 0;
};

/// Adds them to `digits` by add(digit, value).
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

/// What a host thread moves before it sums.
constexpr std::int64_t strip = 8 * neighbours;

struct Strip {
  float weights[strip];
  float directions[strip];
};

template <class Gradient, class Weight>
inline void move_strip(const MomentBlock<Gradient, Weight>& block, std::int64_t first, std::int64_t count,
                       Strip& moved) {
  const Lamb formula = block.formula;  // a copy that no store may change: it stays in registers
  const Gradient* gradient = block.gradient + first;
  const Weight* weight = block.weight + first;
  float* m = block.m + first;
  float* v = block.v + first;
  float* weights = moved.weights;
  float* directions = moved.directions;
  simd_for(0, count, [=](const std::int64_t i) {
    float new_m = m[i];
    float new_v = v[i];
    const float now = to_float(weight[i]);
    formula.move_moments(to_float(gradient[i]), new_m, new_v);
    m[i] = new_m;
    v[i] = new_v;
    weights[i] = now;
    directions[i] = formula.direction(now, new_m, new_v);
  });
  for (std::int64_t i = count; i < strip; ++i) weights[i] = directions[i] = 0.0f;
}

/// On a device.
template <class Gradient, class Weight>
KOKKOS_FORCEINLINE_FUNCTION Squares move_neighbours_by_tiles(const MomentBlock<Gradient, Weight>& block,
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
      block.formula.move_moments(gradients[i], m[i], v[i]);
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

/// A host thread's sums over blocks of one parameter.
class OwnSums {
 public:
  template <class Block>
  void add(const Block& block) {
    Strip moved;
    for (std::int64_t first = 0; first < block.count; first += strip) {
      move_strip(block, first, launch::smaller(strip, block.count - first), moved);
      for (std::int64_t i = 0; i < strip; i += neighbours) {
        const bool is_finite = weights_.add(squares_of_neighbours(moved.weights + i, neighbours)) &&
                               directions_.add(squares_of_neighbours(moved.directions + i, neighbours));
        not_finite_ += is_finite ? 0 : 1;
      }
    }
  }
  void give(std::int64_t* sums) {
    give_digits(weights_, sums + NormDigits::weights);
    give_digits(directions_, sums + NormDigits::directions);
    if (not_finite_ > 0) Kokkos::atomic_add(sums + NormDigits::not_finite, not_finite_);
    not_finite_ = 0;
  }

 private:
  static void give_digits(ExponentBins& bins, std::int64_t* sums) {
    std::int64_t digits[ExactSum::digit_count] = {};
    bins.give_digits([&](const int digit, const std::int32_t value) { digits[digit] += value; });
    for (int i = 0; i < ExactSum::digit_count; ++i) {
      if (digits[i] != 0) Kokkos::atomic_add(sums + i, digits[i]);
    }
  }

  ExponentBins weights_;
  ExponentBins directions_;
  std::int64_t not_finite_ = 0;
};

template <class Gradient, class Weight>
inline void move_row(const MomentRows& rows, const UpdateControl& now, std::int64_t index, const HostRow&) {
  OwnSums own;
  const UpdateSpan* before = nullptr;
  const auto give = [&] {
    if (before != nullptr) own.give(rows.sums + before->slot * std::int64_t{NormDigits::count});
  };
  const std::int64_t end = launch::smaller((index + 1) * blocks_of_row, rows.blocks);
  for (std::int64_t block = index * blocks_of_row; block < end; ++block) {
    const UpdateSpan& span = span_of(rows.spans, rows.span_count, block);
    if (span.frozen) continue;
    if (before != &span) give();
    before = &span;
    own.add(MomentBlock<Gradient, Weight>(rows.rule, span, now,
                                          (block - span.first_block) * UpdatePass::block_elements));
  }
  give();
}

/// Neighbours go to one device thread. The threads of a row add up in the block's place first: places are
/// many, and threads in each other's way there few.
template <class Gradient, class Weight, class Lanes>
KOKKOS_FORCEINLINE_FUNCTION void move_row(const MomentRows& rows, const UpdateControl& now,
                                          std::int64_t index, const RowOfLanes<Lanes>& row) {
  const UpdateSpan& span = span_of(rows.spans, rows.span_count, index);
  if (span.frozen) return;
  const MomentBlock<Gradient, Weight> block(rows.rule, span, now,
                                            (index - span.first_block) * UpdatePass::block_elements);
  std::int32_t* place = rows.places + index * NormDigits::count;
  row.for_each(launch::ceiling_quotient(block.count, neighbours), [&](const std::int64_t group) {
    add_digits(move_neighbours_by_tiles(block, group * neighbours),
               [&](const int digit, const std::int32_t value) { Kokkos::atomic_add(place + digit, value); });
  });
  row.barrier();
  std::int64_t* sums = rows.sums + span.slot * std::int64_t{NormDigits::count};
  row.for_each(NormDigits::count, [&](const std::int64_t digit) {
    const std::int32_t value = Kokkos::atomic_exchange(place + digit, 0);
    if (value != 0) Kokkos::atomic_add(sums + digit, std::int64_t{value});
  });
}

template <class Gradient, class Weight>
void move_rows(const Execution& exec, const MomentRows& rows) {
  for_each_row(
      exec, "moments", launch::ceiling_quotient(rows.blocks, blocks_of_row),
      KOKKOS_LAMBDA(const std::int64_t index, const Row& row) {
        const UpdateControl now = *rows.control;
        if (now.apply == 0) return;
        move_row<Gradient, Weight>(rows, now, index, row);
      });
}

}  // namespace

void move_moments(const Execution& exec, const PassWork& work, const TrustRatios& ratios) {
  const MomentRows rows{work.rule,    work.blocks,   work.spans.data(), work.spans.size(),
                        work.control, ratios.sums(), ratios.places()};
  const DType moved = work.types.has_masters ? DType::fp32 : work.types.weight;
  dispatch(work.types.gradient, [&]<class G>(TypeTag<G>) {
    dispatch(moved, [&]<class W>(TypeTag<W>) { move_rows<G, W>(exec, rows); });
  });
}

}  // namespace mylos
