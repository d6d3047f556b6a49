#include "run_start.hpp"

#include <fmt/format.h>

#include "mylos/comm/collective_error.hpp"
#include "mylos/model/make_chain.hpp"
#include "mylos/train/agreed_kernels.hpp"
#include "mylos/train/run_check.hpp"

namespace mylos {

RunStart::RunStart(RunRequest given, MPI_Comm mpi) : request(std::move(given)) {
  parts.options = std::move(request.deck.options);
  const Options& options = parts.options;
  parts.communicator = make_communicator(mpi, options.communication);
  parts.gemm = make_agreed_engine(options.kernels, ranks(), request.output.line);
  run_on_all(ranks(), [this] { open_data(); });
  require_same_data();
  run_on_all(ranks(), [&] {
    steps = run_length(options, data->epochs());
    require_rules_apply(make_chain(options.model, options.precision, options.run.seed, false),
                        options.precision);
  });
  choose();
  if (lock) lock->name_holder(false);
}

void RunStart::open_data() {
  data = open_run_data(parts.options);
  data->complete(parts.options.model);
  identity = data->identity();
  parts.step = make_step_plan(parts.options, ranks().rank(), ranks().size());
}

/// Before anything is exchanged whose size depends on the data.
void RunStart::require_same_data() {
  std::string own = identity;
  for (const DataPart part : {DataPart::train, DataPart::validation, DataPart::test})
    own += data->has(part) ? fmt::format(" {}", data->samples(part)) : " none";
  const std::string first = broadcast_text(ranks(), own);
  run_on_all(ranks(), [&] {
    if (own != first) {
      fail_input("{} holds other data here than on rank 0; all ranks must see the same files",
                 parts.options.data.train);
    }
  });
}

/// A checkpoint to go on from, and what depends on whether there is one.
void RunStart::find_start() {
  open_checkpoint();
  run_on_all(ranks(), [this] {
    normalizer = saved ? data->room_for_normalizer() : data->normalizer(request.output.line);
  });
  plan_memory();
}

}  // namespace mylos
