#include "mylos/io/hdf5/hdf5_selection.hpp"

namespace mylos::hdf5 {

void select_range(hid_t space, const std::vector<std::int64_t>& dims, std::int64_t first,
                  std::int64_t count) {
  if (dims.empty()) return;  // all is selected
  checked(H5Sselect_none(space));
  for_each_box(dims, first, count, [&](const Index& start, const Index& box) {
    checked(H5Sselect_hyperslab(space, H5S_SELECT_OR, start.data(), nullptr, box.data(), nullptr));
  });
}

}  // namespace mylos::hdf5
