#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "mylos/base/errors/combinations.hpp"
#include "mylos/config/schema/checks.hpp"
#include "mylos/config/schema/deck_mistakes.hpp"

namespace mylos {
namespace {

using Boxes = std::vector<std::int64_t>;

bool is_split(const Boxes& boxes) {
  return std::any_of(boxes.begin(), boxes.end(), [](std::int64_t count) { return count > 1; });
}

void require_axes(const DeckMistakes& mistakes, const char* key, const Boxes& boxes, const Boxes& shape) {
  if (boxes.empty() || shape.empty() || boxes.size() + 1 == shape.size()) return;
  mistakes.fail(errors::keys_conflict, {key, "data.shape"},
                fmt::format("'{}' has {} numbers, and the grid of 'data.shape' has {} axes; give one "
                            "number per axis",
                            key, boxes.size(), shape.size() - 1));
}

/// Whether the boxes of sums that a rank holds follow each other in the order of all of them, so that their
/// sum is one of the tree over all.
bool are_in_order(const Boxes& sums, const Boxes& space) {
  bool is_divided = false;  // an axis further in
  for (std::size_t axis = sums.size(); axis-- > 0;) {
    if (is_divided && sums[axis] > space[axis]) return false;
    is_divided = is_divided || space[axis] > 1;
  }
  return true;
}

/// Returns whether samples are moved along an axis that `space` divides: to other boxes.
bool moves_to_other_boxes(const AugmentOptions& augment, const Boxes& space) {
  const auto divides = [&](std::size_t from_last) {
    return space.size() >= from_last && space[space.size() - from_last] > 1;
  };
  if (augment.crop > 0 || augment.shift > 0) return is_split(space);
  return ((augment.flip_horizontal || augment.rotate) && divides(1)) ||
         ((augment.flip_vertical || augment.rotate) && divides(2));
}

/// Requires that bits do not depend on `space`.
void require_sums(const DeckMistakes& mistakes, const Options& options) {
  const Boxes& sums = options.mesh.sums;
  Boxes space = options.mesh.space;
  if (options.run.reproducible && options.mesh.automatic) {
    mistakes.fail(
        errors::keys_conflict, {"mesh.space", "run.reproducible"},
        "'run.reproducible' needs a 'mesh.space' that the deck gives: starts with other memory would "
        "choose others; set it, and 'mesh.sums'");
  }
  if (options.run.reproducible && is_split(space) && sums.empty()) {
    mistakes.fail(errors::keys_conflict, {"mesh.space", "run.reproducible"},
                  fmt::format("'run.reproducible' needs 'mesh.sums', the boxes by which sums over points are "
                              "taken on every 'mesh.space': [{}], or multiples of that",
                              fmt::join(space, ", ")));
  }
  if (sums.empty()) return;
  if (space.empty()) space.assign(sums.size(), 1);
  const auto fail = [&](const char* key, const std::string& text) {
    mistakes.fail(errors::keys_conflict, {key, "mesh.sums"}, text);
  };
  if (sums.size() != space.size()) {
    fail("mesh.space", fmt::format("'mesh.sums' has {} numbers, and 'mesh.space' has {}; give one per axis",
                                   sums.size(), space.size()));
  }
  for (std::size_t axis = 0; axis < sums.size(); ++axis) {
    const std::int64_t boxes = sums[axis];
    if (std::has_single_bit(static_cast<std::uint64_t>(boxes)) && boxes % space[axis] == 0) continue;
    fail("mesh.space",
         fmt::format("'mesh.sums' = [{}] are powers of two, and multiples of 'mesh.space' = [{}]: not {}",
                     fmt::join(sums, ", "), fmt::join(space, ", "), boxes));
  }
  if (!are_in_order(sums, space)) {
    fail("mesh.space",
         fmt::format(
             "with 'mesh.sums' = [{}], 'mesh.space' = [{}] divides an axis before those in front of it "
             "are divided as often as in 'mesh.sums', so that a rank would not hold boxes whose sums "
             "follow each other; divide the first axes first",
             fmt::join(sums, ", "), fmt::join(space, ", ")));
  }
  if (options.kernels.gemm != GemmChoice::tiles) {
    fail("kernels.gemm",
         "'mesh.sums' needs 'kernels.gemm' = \"tiles\": what other engines compute of a point depends on the "
         "size of a box");
  }
  if (options.rollout.steps > 1) {
    fail("rollout.steps",
         "'mesh.sums' needs 'rollout.steps' = 1: the sums of several applications are added on each rank");
  }
}

}  // namespace

void check_mesh(const Options& options, const GivenPlaces& given, const std::string& file_name) {
  const DeckMistakes mistakes(given, file_name);
  require_axes(mistakes, "mesh.space", options.mesh.space, options.data.shape);
  require_axes(mistakes, "mesh.sums", options.mesh.sums, options.data.shape);
  require_sums(mistakes, options);
  if (options.mesh.is_open() && options.data.augment.any()) {
    mistakes.fail(errors::keys_conflict, {"mesh.space", "data.augment"},
                  "'mesh.space' = \"auto\" may divide an axis along which 'data.augment' moves samples; give "
                  "the boxes: flips move them along one axis alone");
  }
  if (moves_to_other_boxes(options.data.augment, options.mesh.space)) {
    mistakes.fail(
        errors::keys_conflict, {"mesh.space", "data.augment"},
        "'data.augment' moves points of samples along an axis that 'mesh.space' divides into boxes, which "
        "stay on their ranks; divide other axes: 'flip_horizontal' moves them along the last, "
        "'flip_vertical' along the one before, 'rotate' along both, 'crop' and 'shift' along all");
  }
}

}  // namespace mylos
