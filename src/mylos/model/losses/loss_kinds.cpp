#include "mylos/model/losses/loss_kinds.hpp"

#include <iterator>

namespace mylos {
namespace {

/// In the order of LossType.
constexpr std::unique_ptr<LossHead> (*makers[])(const ModelOptions&, const LossInput&) = {
    make_cross_entropy, make_mse,         make_l1,       make_huber,
    make_relative_l2,   make_relative_h1, make_gaussian, make_binary_cross_entropy,
    make_custom};
static_assert(std::size(makers) == std::size(loss_traits));

}  // namespace

std::unique_ptr<LossHead> make_loss(const ModelOptions& model, const LossInput& input) {
  return makers[static_cast<std::size_t>(model.loss)](model, input);
}

}  // namespace mylos
