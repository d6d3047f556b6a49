// AgreedPass: a pass over samples that several ranks share. They wait for each other inside the network, so
// that an error of one must reach all before the next batch.
#pragma once

#include <cstdint>

#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/data/feed/evaluation_pass.hpp"

namespace mylos {

class AgreedPass final : public EvaluationPass {
 public:
  /// All ranks make one and call it alike, until next() has returned nullptr. Both arguments must outlive it.
  AgreedPass(RankGroup& ranks, EvaluationPass& pass) : ranks_(ranks), pass_(pass) {}

  [[nodiscard]] Share share() const override { return pass_.share(); }
  void rewind() override {
    pass_.rewind();
    has_ended_ = false;
  }
  [[nodiscard]] OutsideRange outside_range() const override { return pass_.outside_range(); }

  /// Throws on all ranks if one cannot read its batch. The last call waits for ranks that have more batches.
  const Batch* next() override {
    for (;;) {
      const Batch* batch = nullptr;
      run_on_all(ranks_, [&] {
        if (!has_ended_) batch = pass_.next();
      });
      has_ended_ = batch == nullptr;
      std::int64_t having = has_ended_ ? 0 : 1;
      ranks_.add_up({&having, 1});
      if (batch != nullptr || having == 0) return batch;
    }
  }

 private:
  RankGroup& ranks_;
  EvaluationPass& pass_;
  bool has_ended_ = false;
};

}  // namespace mylos
