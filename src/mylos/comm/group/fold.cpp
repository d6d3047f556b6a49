#include "mylos/comm/group/fold.hpp"

#include "mylos/base/device/target.hpp"
#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/base/float16.hpp"
#include "mylos/base/numbers/binary_tree.hpp"
#include "mylos/comm/group/slice_sum.hpp"

namespace mylos {
namespace {

struct Add {
  template <class Value>
  KOKKOS_INLINE_FUNCTION Value operator()(Value a, Value b) const {
    return a + b;
  }
};
struct Larger {
  template <class Value>
  KOKKOS_INLINE_FUNCTION Value operator()(Value a, Value b) const {
    return a < b ? b : a;
  }
};

using fold::Narrow;
using fold::widen;

// Emulated devices run the form of devices.
constexpr bool in_device_form = !memory_is_host || emulates_device;

// On a host the loops over a block vectorise. On a device neighbouring threads must access neighbouring
// elements.
constexpr std::size_t block_length = in_device_form ? 1 : 256;

/// Calls body(index) for all index < count. Kokkos copies a name of more than 15 letters to the heap.
template <class Body>
void for_each(const Execution* kernels, const char* name, std::size_t count, const Body& body) {
  if (kernels == nullptr) {
    for (std::size_t index = 0; index < count; ++index) body(index);
  } else {
    Kokkos::parallel_for(
        name, Kokkos::RangePolicy<Execution, Kokkos::IndexType<std::size_t>>(*kernels, 0, count), body);
  }
}

/// Calls body(block) for all blocks of `count` elements.
template <class Body>
void for_each_block(const Execution* kernels, const char* name, std::size_t count, const Body& body) {
  for_each(kernels, name, (count + block_length - 1) / block_length, body);
}

template <class T, class Combine>
struct Fold {
  RankSlices<T> slices;
  int ranks;
  float factor;
  T* out;

  KOKKOS_FUNCTION void operator()(const std::size_t block) const {
    using Sum = decltype(widen(T{}));
    const std::size_t count = slices.count;
    const std::size_t first = block * block_length;
    const std::size_t length = count - first < block_length ? count - first : block_length;
    Sum sum[block_length] = {};
    Sum waiting[max_rank_levels][block_length];
    int level = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const T* part = slices.of(rank) + first;
      for (std::size_t i = 0; i < length; ++i) sum[i] = widen(part[i]);
      for (int nodes = completed_nodes(rank, ranks); nodes > 0; --nodes) {
        --level;
        for (std::size_t i = 0; i < length; ++i) sum[i] = Combine{}(waiting[level][i], sum[i]);
      }
      if (rank + 1 == ranks) break;
      for (std::size_t i = 0; i < length; ++i) waiting[level][i] = sum[i];
      ++level;
    }
    T* const sums = out + first;  // stores to a local pointer cannot alias the members: the loop vectorises
    const auto by = static_cast<Sum>(factor);
    for (std::size_t i = 0; i < length; ++i) sums[i] = Narrow<T>::from(by * sum[i]);
  }
};

template <class From, class To>
struct Convert {
  const From* from;
  std::size_t count;
  To* to;

  KOKKOS_FUNCTION void operator()(const std::size_t block) const {
    const std::size_t first = block * block_length;
    const std::size_t length = count - first < block_length ? count - first : block_length;
    const From* const values = from + first;
    To* const converted = to + first;
    for (std::size_t i = 0; i < length; ++i) converted[i] = from_float<To>(to_float(values[i]));
  }
};

template <class T>
void sum(const Execution* kernels, const RankSlices<T>& slices, int ranks, float factor, T* out) {
  if constexpr (in_device_form) {
    const SliceSum<T> wide{slices, ranks, factor, out};
    if (wide.is_aligned()) return for_each(kernels, "mylos fold", slices.count / SliceSum<T>::width, wide);
  }
  for_each_block(kernels, "mylos fold", slices.count, Fold<T, Add>{slices, ranks, factor, out});
}

template <class T>
void fold_type(const Execution* kernels, const void* parts, int ranks, std::size_t count, Reduction reduction,
               float factor, void* out) {
  const auto* all = static_cast<const T*>(parts);
  const RankSlices<T> slices{all, all, ranks, count};
  if (reduction == Reduction::sum) return sum(kernels, slices, ranks, factor, static_cast<T*>(out));
  for_each_block(kernels, "mylos fold", count, Fold<T, Larger>{slices, ranks, factor, static_cast<T*>(out)});
}

}  // namespace

void fold_in_rank_order(const Execution* kernels, const void* parts, int ranks, std::size_t count, DType type,
                        Reduction reduction, float factor, void* out) {
  switch (type) {
    case DType::fp32:
      return fold_type<float>(kernels, parts, ranks, count, reduction, factor, out);
    case DType::fp16:
      return fold_type<half>(kernels, parts, ranks, count, reduction, factor, out);
    case DType::bf16:
      return fold_type<bfloat16>(kernels, parts, ranks, count, reduction, factor, out);
    case DType::fp64:
      return fold_type<double>(kernels, parts, ranks, count, reduction, factor, out);
    default:
      fail_run(errors::internal, "{} cannot be summed in float", name_of(type));
  }
}

void fold_with_own(const Execution* kernels, const CommunicationBuffer& own, int rank, const void* others,
                   int ranks, float factor, void* out) {
  const auto fold_as = [&]<class T>(TypeTag<T>) {
    const RankSlices<T> slices{static_cast<const T*>(others), static_cast<const T*>(own.data), rank,
                               own.count};
    sum(kernels, slices, ranks, factor, static_cast<T*>(out));
  };
  if (own.type == DType::fp64) return fold_as(TypeTag<double>{});
  dispatch(own.type, fold_as);
}

void convert_slice(const Execution* kernels, const CommunicationBuffer& from, const CommunicationBuffer& to) {
  dispatch(from.type, [&]<class From>(TypeTag<From>) {
    dispatch(to.type, [&]<class To>(TypeTag<To>) {
      for_each_block(
          kernels, "mylos convert", from.count,
          Convert<From, To>{static_cast<const From*>(from.data), from.count, static_cast<To*>(to.data)});
    });
  });
}

}  // namespace mylos
