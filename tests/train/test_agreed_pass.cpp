// A pass that the ranks of a sample share: an error of one rank reaches all, and ranks with fewer batches
// wait for the others.
#include "mylos/train/evaluation/agreed_pass.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"

namespace mylos::agreed_pass_test {

/// As many batches as it is told, of which one may be unreadable.
class CountedPass final : public EvaluationPass {
 public:
  CountedPass(int batches, int broken) : batches_(batches), broken_(broken) {}
  [[nodiscard]] Share share() const override { return {0, batches_}; }
  const Batch* next() override {
    if (given_ == broken_) fail_input(errors::damaged, "batch {} is damaged", given_);
    return given_++ < batches_ ? &batch_ : nullptr;
  }
  void rewind() override { given_ = 0; }

 private:
  int batches_;
  int broken_;
  int given_ = 0;
  Batch batch_;
};

TEST(AgreedPass, EndsWhenNoRankHasMore) {
  RankGroup ranks(MPI_COMM_WORLD, 60);
  CountedPass own(1 + ranks.rank(), -1);
  AgreedPass pass(ranks, own);
  for (int round = 0; round < 2; ++round) {
    pass.rewind();
    int batches = 0;
    while (pass.next() != nullptr) ++batches;
    EXPECT_EQ(batches, 1 + ranks.rank());
    ranks.barrier();  // nobody is left in an exchange of the pass
  }
}

TEST(AgreedPass, FailsOnAllRanksAtTheSameBatch) {
  RankGroup ranks(MPI_COMM_WORLD, 60);
  const bool is_last = ranks.rank() == ranks.size() - 1;
  CountedPass own(3, is_last ? 1 : -1);
  AgreedPass pass(ranks, own);
  EXPECT_NE(pass.next(), nullptr);
  try {
    static_cast<void>(pass.next());
    FAIL() << "a rank goes on alone";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), errors::damaged);
  }
}

}  // namespace mylos::agreed_pass_test
