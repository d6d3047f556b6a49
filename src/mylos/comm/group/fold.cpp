#include "mylos/comm/group/fold.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/float16.hpp"
#include "mylos/base/numbers/binary_tree.hpp"

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

// On a host the loops over a block vectorise. On a device neighbouring threads must access neighbouring
// elements.
constexpr std::size_t block_length = memory_is_host ? 256 : 1;

/// Calls body(block) for all blocks of `count` elements. Kokkos copies a name of more than 15 letters to the
/// heap.
template <class Body>
void for_each_block(const Execution* kernels, const char* name, std::size_t count, const Body& body) {
  const std::size_t blocks = (count + block_length - 1) / block_length;
  if (kernels == nullptr) {
    for (std::size_t block = 0; block < blocks; ++block) body(block);
  } else {
    Kokkos::parallel_for(
        name, Kokkos::RangePolicy<Execution, Kokkos::IndexType<std::size_t>>(*kernels, 0, blocks), body);
  }
}

template <class T, class Combine>
struct Fold {
  const T* parts;
  int ranks;
  std::size_t count;
  float factor;
  T* out;

  KOKKOS_FUNCTION void operator()(const std::size_t block) const {
    using Sum = decltype(widen(T{}));
    const std::size_t first = block * block_length;
    const std::size_t length = count - first < block_length ? count - first : block_length;
    Sum sum[block_length] = {};
    Sum waiting[max_rank_levels][block_length];
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
void fold_type(const Execution* kernels, const void* parts, int ranks, std::size_t count, Reduction reduction,
               float factor, void* out) {
  const auto* typed_parts = static_cast<const T*>(parts);
  auto* typed_out = static_cast<T*>(out);
  constexpr const char* name = "mylos fold";
  if (reduction == Reduction::sum) {
    for_each_block(kernels, name, count, Fold<T, Add>{typed_parts, ranks, count, factor, typed_out});
  } else {
    for_each_block(kernels, name, count, Fold<T, Larger>{typed_parts, ranks, count, factor, typed_out});
  }
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
      fail_run(ErrorId::internal, "{} cannot be summed in float", name_of(type));
  }
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
