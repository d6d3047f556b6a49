// oneDNN's GEMMs with its own layout of one operand or of both, reordered beforehand.
#include <dnnl.hpp>

#include "library_layouts.hpp"
#include "mylos/kernels/vendor/host/onednn_versions.hpp"  // of the kernels

namespace mylos {
namespace {

using Format = dnnl::memory::format_tag;

struct Operands {
  dnnl::memory::desc a;
  dnnl::memory::desc b;
};

GemmCandidate make_candidate(const std::string& name, const Operands& plain, const Operands& wanted,
                             const dnnl::memory::desc& c, void* a_values, void* b_values) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto descriptor =
      onednn::describe_forward<dnnl::matmul>(engine, dnnl::primitive_attr(), wanted.a, wanted.b, c);
  const auto reordered = [&](const dnnl::memory::desc& from, const dnnl::memory::desc& to, void* values) {
    dnnl::memory source(from, engine, values);
    dnnl::memory target(to, engine);
    dnnl::reorder(source, target).execute(stream, source, target);
    return target;
  };
  const std::unordered_map<int, dnnl::memory> arguments = {
      {DNNL_ARG_SRC, reordered(plain.a, descriptor.src_desc(), a_values)},
      {DNNL_ARG_WEIGHTS, reordered(plain.b, descriptor.weights_desc(), b_values)},
      {DNNL_ARG_DST, dnnl::memory(descriptor.dst_desc(), engine)}};
  stream.wait();
  return {name, [primitive = dnnl::matmul(descriptor), stream, arguments]() mutable {
            primitive.execute(stream, arguments);
            stream.wait();
          }};
}

}  // namespace

std::vector<GemmCandidate> gemms_in_library_layouts(const GemmProblem& problem, void* a, void* b) {
  if (problem.a == DType::fp16) return {};  // oneDNN multiplies no half on hosts
  const auto type = [](DType t) {
    return t == DType::fp32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
  };
  const dnnl::memory::dims a_shape{problem.m, problem.k};
  const dnnl::memory::dims b_shape{problem.k, problem.n};
  const Operands plain = {{a_shape, type(problem.a), problem.transpose_a ? Format::ba : Format::ab},
                          {b_shape, type(problem.b), problem.transpose_b ? Format::ba : Format::ab}};
  const Operands any = {{a_shape, type(problem.a), Format::any}, {b_shape, type(problem.b), Format::any}};
  const dnnl::memory::desc c({problem.m, problem.n}, type(problem.c), Format::ab);
  return {make_candidate("onednn, own layout of B", plain, {plain.a, any.b}, c, a, b),
          make_candidate("onednn, own layouts of A and B", plain, any, c, a, b)};
}

}  // namespace mylos
