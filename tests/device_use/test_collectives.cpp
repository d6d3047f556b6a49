// Each misuse of NCCL that its stand-in is there to find, and the use that it must not complain of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include "ledger.hpp"
#include "test_memory.hpp"

namespace {

using device_use::a_stream;
using device_use::device_bytes;
using device_use::Ledger;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Two ranks, of which this is the second.
class Collectives : public testing::Test {
 protected:
  Collectives() {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclCommInitRankConfig(&second, 2, {}, 1, &config);
    finish();
  }
  ~Collectives() override { ncclCommDestroy(second); }

  /// Polls until NCCL is done.
  void finish() const {
    for (ncclResult_t state = ncclInProgress; state == ncclInProgress;) ncclCommGetAsyncError(second, &state);
  }
  /// The faults of the calls since the last time.
  [[nodiscard]] std::set<std::string> faults() const {
    finish();
    return Ledger::own().take_faults();
  }

  ncclComm_t second = nullptr;
  cudaStream_t stream = a_stream();
  std::byte* memory = device_bytes(64);
};

TEST_F(Collectives, UseTheDevicesMemory) {
  float on_host[4] = {};
  const auto reduce = [&](void* buffer, std::size_t count) {
    ncclAllReduce(buffer, buffer, count, ncclFloat32, ncclSum, second, stream);
    return faults();
  };
  EXPECT_THAT(reduce(memory, 16), IsEmpty());
  EXPECT_THAT(reduce(memory, 17), Each(HasSubstr("goes beyond")));
  EXPECT_EQ(reduce(on_host, 4).size(), 2u);
}

TEST_F(Collectives, OfTwoRanksHaveRoomForBothParts) {
  const auto gather = [&](std::size_t count) {
    ncclAllGather(memory + count * 4, memory, count, ncclFloat32, second, stream);
    return faults();
  };
  EXPECT_THAT(gather(8), IsEmpty());
  EXPECT_THAT(gather(9), Each(HasSubstr("goes beyond")));
  const auto scatter = [&](std::size_t count) {
    ncclReduceScatter(memory, memory + count * 4, count, ncclFloat32, ncclSum, second, stream);
    return faults();
  };
  EXPECT_THAT(scatter(8), IsEmpty());
  EXPECT_THAT(scatter(9), Each(HasSubstr("goes beyond")));
}

TEST_F(Collectives, SumIn16BitsIsRoundedAtEachHop) {
  const auto reduce = [&](ncclDataType_t type, ncclRedOp_t operation) {
    ncclAllReduce(memory, memory, 8, type, operation, second, stream);
    return faults();
  };
  const auto scatter = [&](ncclDataType_t type) {
    ncclReduceScatter(memory, memory, 4, type, ncclSum, second, stream);
    return faults();
  };
  EXPECT_THAT(reduce(ncclBfloat16, ncclSum), Each(HasSubstr("rounds sums of bfloat16 at each hop")));
  EXPECT_THAT(reduce(ncclFloat16, ncclNumOps), ElementsAre(HasSubstr("float16")));
  EXPECT_THAT(scatter(ncclBfloat16), ElementsAre(HasSubstr("ncclReduceScatter rounds")));
  EXPECT_THAT(reduce(ncclBfloat16, ncclMax), IsEmpty());
  EXPECT_THAT(scatter(ncclFloat32), IsEmpty());
}

TEST_F(Collectives, AreWrittenDownWithTypeOperationAndBytes) {
  Ledger::own().begin_step();
  ncclAllReduce(memory, memory, 3, ncclInt32, ncclMax, second, stream);
  finish();
  ncclAllGather(memory, memory, 2, ncclFloat64, second, stream);
  finish();
  Ledger::own().end_step();
  const auto launches = Ledger::own().last_step().launches;
  EXPECT_EQ(launches.count("ncclAllReduce int32 max 12 B"), 1u);
  EXPECT_EQ(launches.count("ncclAllGather float64 16 B"), 1u);
  EXPECT_THAT(faults(), IsEmpty());
}

TEST_F(Collectives, AreInProgressUntilTheyWerePolled) {
  const auto gather = [&] { return ncclAllGather(memory, memory, 8, ncclFloat32, second, stream); };
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  EXPECT_EQ(gather(), ncclInProgress);
  EXPECT_THAT(faults(), IsEmpty());
  gather();
  gather();
  EXPECT_THAT(faults(), ElementsAre(HasSubstr("while the call before it is in progress")));
  gather();
  cudaEventRecord(event, stream);
  EXPECT_THAT(faults(), ElementsAre(HasSubstr("has not enqueued its work yet")));
  gather();
  finish();
  cudaEventRecord(event, stream);
  EXPECT_THAT(faults(), IsEmpty());
}

TEST_F(Collectives, InAGroupArePolledAtItsEnd) {
  const auto exchange = [&] {
    ncclSend(memory, 8, ncclBfloat16, 0, second, stream);
    ncclRecv(memory + 32, 8, ncclBfloat16, 0, second, stream);
  };
  ncclGroupStart();
  exchange();
  EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
  EXPECT_THAT(faults(), IsEmpty());
  ncclGroupStart();
  exchange();
  ncclResult_t state = ncclSuccess;
  ncclCommGetAsyncError(second, &state);
  ncclGroupEnd();
  EXPECT_THAT(faults(), ElementsAre(HasSubstr("is polled in a group")));
  exchange();
  EXPECT_THAT(faults(), Contains(HasSubstr("in no group")));
  ncclGroupStart();
  ncclSend(memory, 8, ncclBfloat16, 0, second, stream);
  ncclGroupEnd();
  EXPECT_THAT(faults(), ElementsAre(HasSubstr("sends to others than it receives from")));
  ncclGroupEnd();
  EXPECT_THAT(faults(), ElementsAre(HasSubstr("of no group")));
}

TEST_F(Collectives, OfARankThatIsGoneFailWhenTheyArePolled) {
  const auto gather = [&] { ncclAllGather(memory, memory, 8, ncclFloat32, second, stream); };
  setenv("MYLOS_DEVICE_USE_NCCL_FAILS_AFTER", "0", 1);
  gather();
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) ncclCommGetAsyncError(second, &state);
  EXPECT_EQ(state, ncclRemoteError);
  EXPECT_THAT(Ledger::own().take_faults(), IsEmpty());
  ncclCommFinalize(second);
  EXPECT_THAT(Ledger::own().take_faults(), ElementsAre(HasSubstr("waits for a rank that is gone")));
  unsetenv("MYLOS_DEVICE_USE_NCCL_FAILS_AFTER");
  ncclCommAbort(second);
  EXPECT_THAT(Ledger::own().take_faults(), IsEmpty());
  ncclCommInitRankConfig(&second, 2, {}, 1, nullptr);
  finish();
}

TEST_F(Collectives, TakeTheirMemoryBeforeFreeMemoryIsRead) {
  std::size_t before = 0, after = 0, total = 0;
  cudaMemGetInfo(&before, &total);
  ncclBroadcast(memory, memory, 8, ncclFloat32, 0, second, stream);
  EXPECT_THAT(faults(), ElementsAre(HasSubstr("ncclBroadcast takes its first memory after")));
  cudaMemGetInfo(&after, &total);
  EXPECT_LT(after, before);
  ncclBroadcast(memory, memory, 8, ncclFloat32, 0, second, stream);
  EXPECT_THAT(faults(), IsEmpty()) << "it has its memory";
}

}  // namespace
