#include "mylos/model/memory/pass_calls.hpp"

namespace mylos {

PassCalls calls_of_pass(const Chain& chain, const Schedule& schedule, std::int64_t rows) {
  PassCalls calls;
  std::vector<bool> has_run(chain.blocks.size());
  std::vector<SampleCall>* now = &calls.forward;
  for (const Operation& operation : schedule) {
    if (operation.kind == OperationKind::loss) {
      now = &calls.backward;
      continue;
    }
    const std::size_t block = operation.block;
    const std::vector<SampleCall> own = chain.blocks[block]->sample_calls(
        rows, {.is_backward = operation.kind == OperationKind::backward,
               .variant = operation.variant,
               .wants_input = block > 0 || chain.input_gradients,
               .is_recompute = operation.kind == OperationKind::forward && has_run[block]});
    now->insert(now->end(), own.begin(), own.end());
    has_run[block] = true;
  }
  return calls;
}

}  // namespace mylos
