#include "mylos/kernels/grid/point_sums.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {
namespace {

KOKKOS_FORCEINLINE_FUNCTION double weight_at(const PointSums& sums, std::int64_t point) {
  return sums.weights == nullptr ? 1.0 : static_cast<double>(sums.weights[point / sums.row_points]);
}

template <class T>
void set_sums(const Execution& exec, const PointSums& sums, const ConstTensor& of_s, const Tensor& of_y) {
  const T* const s = of_s.empty() ? nullptr : of_s.as<T>();
  T* const y = of_y.as<T>();
  for_each_row(
      exec, "set_sums", of_y.rows() * sums.of.count, sums.points,
      KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const PointSums of = sums;
        const std::int64_t sample = index / of.of.count;
        const std::int64_t k = index - sample * of.of.count;
        T* const own = y + sample * of.points * of.channels + of.of.channel_of(k);
        const T* const other =
            s == nullptr ? nullptr : s + sample * of.points * of.from_channels + of.of.from_of(k);
        const double missing = row.sum(of.points, [=](std::int64_t point) {
          const double wanted =
              other == nullptr ? 0.0 : static_cast<double>(to_float(other[point * of.from_channels]));
          return weight_at(of, point) * (wanted - static_cast<double>(to_float(own[point * of.channels])));
        });
        const double added = missing * of.inverse_total;
        row.for_each(of.points, [=](std::int64_t point) {
          T& number = own[point * of.channels];
          number = from_float<T>(static_cast<float>(static_cast<double>(to_float(number)) + added));
        });
      });
}

template <class T>
void backward_s(const Execution& exec, const PointSums& sums, const ConstTensor& of_dy, const Tensor& of_ds,
                bool adds) {
  const T* const dy = of_dy.as<T>();
  T* const ds = of_ds.as<T>();
  for_each_row(
      exec, "d_sums_of", of_ds.rows() * sums.from_channels, sums.points,
      KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const PointSums of = sums;
        const std::int64_t sample = index / of.from_channels;
        const std::int64_t from = index - sample * of.from_channels;
        const T* const of_sample = dy + sample * of.points * of.channels;
        T* const own = ds + sample * of.points * of.from_channels + from;
        const double sum = row.sum(of.points, [=](std::int64_t point) {
          double all = 0;
          for (std::int64_t k = 0; k < of.of.count; ++k)
            if (of.of.from_of(k) == from)
              all += static_cast<double>(to_float(of_sample[point * of.channels + of.of.channel_of(k)]));
          return all;
        });
        const double share = sum * of.inverse_total;
        row.for_each(of.points, [=](std::int64_t point) {
          T& number = own[point * of.from_channels];
          const double before = adds ? static_cast<double>(to_float(number)) : 0.0;
          number = from_float<T>(static_cast<float>(before + weight_at(of, point) * share));
        });
      });
}

template <class T>
void backward_y(const Execution& exec, const PointSums& sums, const Tensor& of_dy) {
  T* const dy = of_dy.as<T>();
  for_each_row(
      exec, "d_sums", of_dy.rows() * sums.of.count, sums.points,
      KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const PointSums of = sums;
        const std::int64_t sample = index / of.of.count;
        T* const own = dy + sample * of.points * of.channels + of.of.channel_of(index - sample * of.of.count);
        const double sum = row.sum(of.points, [=](std::int64_t point) {
          return static_cast<double>(to_float(own[point * of.channels]));
        });
        const double share = sum * of.inverse_total;
        row.for_each(of.points, [=](std::int64_t point) {
          T& number = own[point * of.channels];
          number = from_float<T>(
              static_cast<float>(static_cast<double>(to_float(number)) - weight_at(of, point) * share));
        });
      });
}

}  // namespace

void set_point_sums(const Execution& exec, const PointSums& sums, const ConstTensor& s, const Tensor& y) {
  dispatch(y.type(), [&](auto type) { set_sums<typename decltype(type)::type>(exec, sums, s, y); });
}

void point_sums_backward_s(const Execution& exec, const PointSums& sums, const ConstTensor& dy,
                           const Tensor& ds, bool adds) {
  dispatch(dy.type(),
           [&](auto type) { backward_s<typename decltype(type)::type>(exec, sums, dy, ds, adds); });
}

void point_sums_backward_y(const Execution& exec, const PointSums& sums, const Tensor& dy) {
  dispatch(dy.type(), [&](auto type) { backward_y<typename decltype(type)::type>(exec, sums, dy); });
}

}  // namespace mylos
