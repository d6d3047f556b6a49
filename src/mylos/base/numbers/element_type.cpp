#include "mylos/base/dispatch.hpp"
#include "mylos/base/dtype_limits.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos::detail {

void fail_dispatch(DType type) {
  fail_run(errors::bad_call, "expected fp32, fp16 or bf16, got {}", name_of(type));
}

void fail_dispatch(DType type, DType other) {
  fail_run(errors::bad_call, "expected fp32 or {}, got {}", name_of(other), name_of(type));
}

void fail_integer_limits(DType type) {
  fail_run(errors::bad_call, "{} is an integer type and has no limits of a floating-point type",
           name_of(type));
}

void fail_element_type(DType type, DType as) {
  fail_run(errors::bad_call, "a tensor of {} was read as {}", name_of(type), name_of(as));
}

}  // namespace mylos::detail
