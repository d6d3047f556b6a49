#include "mylos/model/parameter_tensors.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"

namespace mylos {

const Tensor& ParameterTensors::operator[](std::string_view name) const {
  if (const Tensor* found = find(name)) return *found;
  fail_run(errors::internal, "there is no parameter {}",
           parameter_name(std::string(group_), std::string(name)));
}

}  // namespace mylos
