#include "mylos/model/chain/block_types.hpp"

#include "mylos/precision/policy.hpp"

namespace mylos {

DType BlockTypes::compute(std::string_view name, std::string_view kind) const {
  return compute_type(precision, name, kind);
}

DType BlockTypes::gradient(DType type) const {
  return gradient_type(precision.gradient, type, accumulates);
}

}  // namespace mylos
