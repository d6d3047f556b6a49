#include "mylos/optim/update/parameter_average.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/base/float16.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "mylos/optim/update/update_formulas.hpp"

namespace mylos {
namespace {

/// `Weight`: the type of the updated weights, float if there are masters.
template <class Weight>
void average_blocks(const Execution& exec, bool has_masters, std::int64_t blocks, const UpdateSpan* spans,
                    std::size_t count, const UpdateControl* control, float new_share) {
  for_each_row(
      exec, "average", blocks, KOKKOS_LAMBDA(const std::int64_t index, const Row& row) {
        if (control->apply == 0) return;
        const bool is_first = control->updates == 0;
        const UpdateSpan& span = span_of(spans, count, index);
        const std::int64_t first = (index - span.first_block) * UpdatePass::block_elements;
        const void* updated = has_masters ? span.master : span.weight;
        const Weight* weight = static_cast<const Weight*>(updated) + first;
        float* average = span.average + first;
        row.for_each(launch::smaller(UpdatePass::block_elements, span.count - first),
                     [=](const std::int64_t i) {
                       const float now = to_float(weight[i]);
                       average[i] = is_first ? now : average[i] + new_share * (now - average[i]);
                     });
      });
}

}  // namespace

void update_average(const Execution& exec, const UpdateTypes& types, std::int64_t blocks,
                    std::span<const UpdateSpan> spans, const UpdateControl* control, float new_share) {
  const DType updated = types.has_masters ? DType::fp32 : types.weight;
  dispatch(updated, [&]<class Weight>(TypeTag<Weight>) {
    average_blocks<Weight>(exec, types.has_masters, blocks, spans.data(), spans.size(), control, new_share);
  });
}

}  // namespace mylos
