// Describes primitives to oneDNN 2 and 3; version 3 has no operation descriptors. Each template uses what the
// headers declare.
#pragma once

#include <dnnl.hpp>

namespace mylos::onednn {

/// Describes a forward primitive. `arguments` are those of the constructor of oneDNN 2's operation
/// descriptor.
template <class Primitive, class... Arguments>
[[nodiscard]] typename Primitive::primitive_desc describe_forward(const dnnl::engine& engine,
                                                                  const dnnl::primitive_attr& attributes,
                                                                  const Arguments&... arguments) {
  if constexpr (requires { typename Primitive::desc; }) {
    return {typename Primitive::desc(arguments...), attributes, engine};
  } else {
    return {engine, arguments..., attributes};
  }
}

/// Likewise, but excludes the implementations for which `skips` is true, unless it is true for all of them.
template <class Primitive, class Skips, class... Arguments>
[[nodiscard]] typename Primitive::primitive_desc describe_forward_but(const Skips& skips,
                                                                      const dnnl::engine& engine,
                                                                      const dnnl::primitive_attr& attributes,
                                                                      const Arguments&... arguments) {
  const auto skipped = [&](typename Primitive::primitive_desc descriptor) {
    while (skips(descriptor) && descriptor.next_impl()) {
    }
    return descriptor;
  };
  if constexpr (requires { typename Primitive::desc; }) {
    const typename Primitive::desc operation(arguments...);  // oneDNN 2.6 reads it again in next_impl()
    return skipped({operation, attributes, engine});
  } else {
    return skipped({engine, arguments..., attributes});
  }
}

/// Describes a backward primitive for the forward primitive `forward`.
template <class Primitive, class Forward, class... Arguments>
[[nodiscard]] typename Primitive::primitive_desc describe_backward(const dnnl::engine& engine,
                                                                   const dnnl::primitive_attr& attributes,
                                                                   const Forward& forward,
                                                                   const Arguments&... arguments) {
  if constexpr (requires { typename Primitive::desc; }) {
    return {typename Primitive::desc(arguments...), attributes, engine, forward};
  } else {
    return {engine, arguments..., forward, attributes};
  }
}

/// Appends max(x, 0).
template <class PostOps>
void append_relu(PostOps& operations) {
  constexpr auto relu = dnnl::algorithm::eltwise_relu;
  if constexpr (requires { operations.append_eltwise(relu, 0.0f, 0.0f); }) {
    operations.append_eltwise(relu, 0.0f, 0.0f);
  } else {
    operations.append_eltwise(1.0f, relu, 0.0f, 0.0f);
  }
}

}  // namespace mylos::onednn
