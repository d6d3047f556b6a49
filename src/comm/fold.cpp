#include "fold.hpp"

#include "mylos/base/binary_tree.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/float16.hpp"

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

template <class T>
KOKKOS_INLINE_FUNCTION float widen(T value) {
  return to_float(value);
}
KOKKOS_INLINE_FUNCTION double widen(double value) {
  return value;
}

template <class T>
struct Narrow {
  KOKKOS_INLINE_FUNCTION static T from(float value) { return from_float<T>(value); }
};
template <>
struct Narrow<double> {
  KOKKOS_INLINE_FUNCTION static double from(double value) { return value; }
};

template <class T, class Combine>
void fold(const Execution& execution, const T* parts, int ranks, std::size_t count, float factor, T* out) {
  using Sum = decltype(widen(T{}));
  // On a host a block's loops vectorise; on a device neighbouring threads must touch neighbouring elements.
  constexpr std::size_t block = memory_is_host ? 256 : 1;
  const std::size_t blocks = (count + block - 1) / block;
  Kokkos::parallel_for(
      "mylos fold", Kokkos::RangePolicy<Execution, Kokkos::IndexType<std::size_t>>(execution, 0, blocks),
      KOKKOS_LAMBDA(const std::size_t index) {
        const std::size_t first = index * block;
        const std::size_t length = count - first < block ? count - first : block;
        Sum sum[block] = {};
        Sum waiting[most_rank_levels][block];
        int level = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          const T* part = parts + static_cast<std::size_t>(rank) * count + first;
          for (std::size_t i = 0; i < length; ++i) sum[i] = widen(part[i]);
          for (int nodes = completed_nodes(rank, ranks); nodes > 0; --nodes) {
            --level;
            for (std::size_t i = 0; i < length; ++i) sum[i] = Combine{}(waiting[level][i], sum[i]);
          }
          if (rank + 1 == ranks) break;
          for (std::size_t i = 0; i < length; ++i) waiting[level][i] = sum[i];
          ++level;
        }
        for (std::size_t i = 0; i < length; ++i) {
          out[first + i] = Narrow<T>::from(static_cast<Sum>(factor) * sum[i]);
        }
      });
}

template <class T>
void fold_type(const Execution& execution, const void* parts, int ranks, std::size_t count,
               Reduction reduction, float factor, void* out) {
  const auto* typed_parts = static_cast<const T*>(parts);
  auto* typed_out = static_cast<T*>(out);
  if (reduction == Reduction::sum) {
    fold<T, Add>(execution, typed_parts, ranks, count, factor, typed_out);
  } else {
    fold<T, Larger>(execution, typed_parts, ranks, count, factor, typed_out);
  }
}

}  // namespace

void fold_in_rank_order(const Execution& execution, const void* parts, int ranks, std::size_t count,
                        DType type, Reduction reduction, float factor, void* out) {
  switch (type) {
    case DType::fp32:
      return fold_type<float>(execution, parts, ranks, count, reduction, factor, out);
    case DType::fp16:
      return fold_type<half>(execution, parts, ranks, count, reduction, factor, out);
    case DType::bf16:
      return fold_type<bfloat16>(execution, parts, ranks, count, reduction, factor, out);
    case DType::fp64:
      return fold_type<double>(execution, parts, ranks, count, reduction, factor, out);
    default:
      fail_run("{} is not summed in float", name_of(type));
  }
}

}  // namespace mylos
