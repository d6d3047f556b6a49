#include "mylos/checkpoint/file/array_crcs.hpp"

#include <algorithm>
#include <tuple>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/checkpoint/file/stored_bytes.hpp"
#include "mylos/io/files/digest.hpp"

namespace mylos {

std::vector<std::uint32_t> joined_crcs(const CheckpointState& state, std::vector<PieceCrc> pieces) {
  std::sort(pieces.begin(), pieces.end(), [](const PieceCrc& a, const PieceCrc& b) {
    return std::tie(a.array, a.first) < std::tie(b.array, b.first);
  });
  std::vector<std::uint32_t> crcs;
  auto piece = pieces.begin();
  for (std::size_t i = 0; i < state.arrays.size(); ++i) {
    const StateArray& array = state.arrays[i];
    std::uint32_t crc = 0;
    std::int64_t end = 0;
    for (; piece != pieces.end() && piece->array == i; ++piece) {
      if (piece->count == 0) continue;
      if (piece->first != end) break;
      crc = crc32_joined(crc, piece->crc, array.bytes_of(piece->count));
      end += piece->count;
    }
    const bool is_duplicate = piece != pieces.end() && piece->array == i && piece->first < end;
    if (is_duplicate || end != array.size()) {
      fail_run(errors::internal, "{}: element {} of {} is held {}", array.path,
               is_duplicate ? piece->first : end, array.size(), is_duplicate ? "twice" : "by no rank");
    }
    crcs.push_back(crc);
  }
  return crcs;
}

void write_crcs(OpenFile& open, const CheckpointState& state, const std::vector<std::uint32_t>& crcs) {
  for (std::size_t i = 0; i < crcs.size(); ++i) {
    open.file.write_attribute(state.arrays[i].path, crc_attribute, static_cast<std::int64_t>(crcs[i]));
    flush_some(open.file, i + 1);
  }
}

}  // namespace mylos
