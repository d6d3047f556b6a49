#include "mylos/io/hdf5/hdf5_boxes.hpp"

#include <fmt/format.h>

#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/io/hdf5/hdf5_library.hpp"

namespace mylos::hdf5 {
namespace {

void write(const Dataset& dataset, std::span<const AxisRange> box, DType type, const void* source) {
  const LibraryScope scope;
  const Handle space(H5Dget_space(dataset.state().id), H5Sclose);
  std::vector<hsize_t> start;
  std::vector<hsize_t> count;
  hsize_t numbers = 1;
  for (const AxisRange& range : box) {
    start.push_back(static_cast<hsize_t>(range.begin));
    count.push_back(static_cast<hsize_t>(range.count));
    numbers *= count.back();
  }
  const Handle memory(H5Screate_simple(1, &numbers, nullptr), H5Sclose);
  const Handle stored(type_in_memory(type));
  const bool selected = box.size() == dataset.dims().size() &&
                        (box.empty() || H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr,
                                                            count.data(), nullptr) >= 0);
  if (!selected ||
      H5Dwrite(dataset.state().id, stored.id(), memory.id(), space.id(), H5P_DEFAULT, source) < 0) {
    fail_to_write(*dataset.state().file, fmt::format("dataset {} cannot be written", dataset.path()));
  }
  require_written(*dataset.state().file);
}

}  // namespace

void write_box(Dataset& dataset, std::span<const AxisRange> box, const float* source) {
  write(dataset, box, DType::fp32, source);
}

void write_box(Dataset& dataset, std::span<const AxisRange> box, const double* source) {
  write(dataset, box, DType::fp64, source);
}

}  // namespace mylos::hdf5
