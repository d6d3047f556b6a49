#include "mylos/data/run/run_data.hpp"

#include "mylos/data/run/data_kinds.hpp"
#include "mylos/data/tokens/token_dataset.hpp"

namespace mylos {

std::unique_ptr<RunData> open_run_data(const Options& options, Answers answers, const Places& places) {
  if (options.data.train.empty()) {
    fail_input("the deck has no data.train; only `mylos plan` works without it");
  }
  const bool wants_tokens = options.model.type == ModelType::gpt;
  if (holds_tokens(options.data.train) != wants_tokens) {
    fail_input("{} holds {}, which model.type = \"{}\" cannot learn; `mylos prepare {}` makes what it can",
               options.data.train, wants_tokens ? "labelled samples" : "tokens", wants_tokens ? "gpt" : "mlp",
               wants_tokens ? "text" : "idx");
  }
  return wants_tokens ? open_token_data(options) : open_sample_data(options, answers, places);
}

const char* name_of(DataPart part) {
  switch (part) {
    case DataPart::train:
      return "train";
    case DataPart::validation:
      return "validation";
    case DataPart::test:
      break;
  }
  return "test";
}

}  // namespace mylos
