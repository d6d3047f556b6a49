// What is said of ranks, threads and devices that do not fit their nodes, and what is not said where all is
// right.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "../../apps/mylos/launch/placement_report.hpp"
#include "mylos/base/memory_is_host.hpp"

namespace {

using namespace mylos;
using namespace mylos::app;
using testing::ElementsAre;
using testing::IsEmpty;

CoreSet cores(int first, int count) {
  CoreSet set;
  for (int core = first; core < first + count; ++core) set.set(static_cast<std::size_t>(core));
  return set;
}

/// A rank on the node that begins with rank `node`, which has 8 cores.
RankPlacement rank_on(int node, const CoreSet& bound, int threads) {
  RankPlacement placement;
  *std::copy_n("n0", 1, placement.node) = static_cast<char>('0' + node);
  placement.node_first = node;
  placement.bound = placement.occupied = bound;
  placement.usable = cores(0, 8);
  placement.threads = threads;
  return placement;
}

RankPlacement with_device(RankPlacement placement, int visible, std::uint8_t device) {
  placement.devices = visible;
  placement.visible_devices = 1;
  placement.device = DeviceId{device};
  return placement;
}

RankPlacement choosing(RankPlacement placement) {
  placement.chosen_threads = true;
  return placement;
}

const CoreSet all = cores(0, 8);

TEST(PlacementAdvice, IsSilentWhereEachThreadHasACore) {
  EXPECT_THAT(placement_advice({rank_on(0, all, 8)}), IsEmpty());
  EXPECT_THAT(placement_advice({rank_on(0, all, 4), rank_on(0, all, 4)}), IsEmpty());
  EXPECT_THAT(placement_advice({rank_on(0, cores(0, 4), 4), rank_on(0, cores(4, 4), 4)}), IsEmpty());
  EXPECT_THAT(placement_advice({rank_on(0, all, 8), rank_on(1, all, 8)}), IsEmpty());
}

TEST(PlacementAdvice, NamesARankThatIsBoundToFewerCoresThanThreads) {
  EXPECT_THAT(
      placement_advice({rank_on(0, cores(0, 1), 2)}),
      ElementsAre("warning: rank 0 on n0 has 2 threads on 1 of its 8 cores: `mpirun --bind-to none` or "
                  "`srun --cpus-per-task=2` gives them more"));
}

TEST(PlacementAdvice, NamesRanksThatAreBoundToTheSameCores) {
  const RankPlacement first = rank_on(0, cores(0, 2), 2);
  EXPECT_THAT(
      placement_advice({first, first, rank_on(0, cores(4, 2), 2)}),
      ElementsAre("warning: ranks 0 and 1 on n0 have 4 threads on 2 of its 8 cores: `mpirun --bind-to "
                  "none` or `srun --cpus-per-task=2` gives them more"));
}

TEST(PlacementAdvice, CountsRanksOnAPartOfAnothersCores) {
  EXPECT_THAT(
      placement_advice({rank_on(0, cores(0, 4), 4), rank_on(0, all, 8)}),
      ElementsAre("warning: ranks 0 and 1 on n0 have 12 threads on its 8 cores: OMP_NUM_THREADS=4 fits"));
}

TEST(PlacementAdvice, NamesMoreThreadsThanANodeHasCores) {
  EXPECT_THAT(placement_advice({rank_on(0, all, 4), rank_on(0, all, 4), rank_on(0, all, 4)}),
              ElementsAre("warning: ranks 0-2 on n0 have 12 threads on its 8 cores: OMP_NUM_THREADS=2 fits"));
  EXPECT_THAT(
      placement_advice(Placement(9, rank_on(0, all, 1))),
      ElementsAre("warning: ranks 0-8 on n0 have 9 threads on its 8 cores: start at most 8 ranks there"));
}

TEST(PlacementAdvice, NamesIdleCoresThatNobodyChoseToLeave) {
  const Placement bound{choosing(rank_on(0, cores(0, 1), 1)), choosing(rank_on(0, cores(1, 1), 1))};
  EXPECT_THAT(
      placement_advice(bound),
      ElementsAre("warning: ranks 0 and 1 on n0 are bound to 2 of its 8 cores, and the others are idle: "
                  "`mpirun --bind-to none` or `srun --cpus-per-task=4` uses them"));
  EXPECT_THAT(placement_advice({rank_on(0, cores(0, 1), 1)}), IsEmpty());  // one thread was asked for
}

TEST(PlacementAdvice, IsSilentOnOtherHardwareThreadsOfBoundCores) {
  Placement bound{choosing(rank_on(0, cores(0, 2), 2)), choosing(rank_on(0, cores(2, 2), 2))};
  bound[0].occupied |= cores(4, 2);
  EXPECT_THAT(placement_advice(bound), testing::SizeIs(1));  // cores 6 and 7 are idle
  bound[1].occupied |= cores(6, 2);
  EXPECT_THAT(placement_advice(bound), IsEmpty());
}

TEST(PlacementAdvice, NamesRanksWithFewerThreadsThanOthers) {
  EXPECT_THAT(
      placement_advice({rank_on(0, all, 4), rank_on(0, all, 2), rank_on(2, all, 4)}),
      ElementsAre("warning: rank 1 has 2 threads, ranks 0 and 2 have 4: every step waits for the slowest; "
                  "OMP_NUM_THREADS or run.threads sets them"));
}

TEST(PlacementAdvice, OfManyNodesNamesTheFirst) {
  EXPECT_THAT(
      placement_advice({rank_on(0, all, 8), rank_on(1, cores(0, 1), 8), rank_on(2, cores(0, 1), 8)}),
      ElementsAre("warning: rank 1 on n1 has 8 threads on 1 of its 8 cores: `mpirun --bind-to none` or `srun "
                  "--cpus-per-task=8` gives them more; the like on 1 more node"));
}

TEST(PlacementAdvice, NamesDevicesThatAreSharedWhileOthersAreIdle) {
  const RankPlacement placement = with_device(rank_on(0, all, 1), 4, 1);
  EXPECT_THAT(
      placement_advice({placement, placement}),
      ElementsAre("warning: ranks 0 and 1 on n0 share 1 of its 4 devices: let every rank see all of them (no "
                  "CUDA_VISIBLE_DEVICES, `srun --gpus-per-node=4`), and each takes its own"));
  EXPECT_THAT(placement_advice({placement, with_device(placement, 4, 2)}), IsEmpty());
}

TEST(PlacementAdvice, NamesMoreRanksThanDevices) {
  const RankPlacement placement = with_device(rank_on(0, all, 1), 2, 1);
  EXPECT_THAT(placement_advice({placement, with_device(placement, 2, 2), placement}),
              ElementsAre("warning: ranks 0-2 on n0 share 2 devices: `mpirun --map-by ppr:2:node` or `srun "
                          "--ntasks-per-node=2` starts one for each"));
}

TEST(PlacementAdvice, NamesThreadsThatAReproducibleRunWouldNotHaveElsewhere) {
  const Placement chosen = {choosing(rank_on(0, all, 4)), choosing(rank_on(0, all, 4))};
  EXPECT_THAT(placement_advice(chosen), IsEmpty());
  EXPECT_THAT(placement_advice({rank_on(0, all, 4), rank_on(0, all, 4)}, true), IsEmpty());
  if constexpr (!memory_is_host) return;
  EXPECT_THAT(placement_advice(chosen, true),
              ElementsAre("warning: run.reproducible holds for as many threads per rank as here, 4, which go "
                          "by the cores and ranks of the node: run.threads=4 keeps them elsewhere"));
}

TEST(Placement, DevicesOfANodeAreTakenInTurn) {
  const RankPlacement two = with_device(rank_on(0, all, 1), 2, 0);
  RankPlacement other_two = two;  // as where a script shows each socket's ranks the devices of their socket
  other_two.visible_devices = 2;
  const RankPlacement elsewhere = with_device(rank_on(4, all, 1), 2, 0);
  const Placement placement{two, other_two, two, other_two, elsewhere, two};
  std::vector<int> devices;
  for (int rank = 0; rank < 6; ++rank) devices.push_back(device_of(placement, rank));
  EXPECT_THAT(devices, ElementsAre(0, 0, 1, 1, 0, 0));
  EXPECT_EQ(device_of({rank_on(0, all, 1)}, 0), 0);  // no device: nobody asks
}

TEST(Placement, CoresAreSharedWithRanksOfTheSameNodeAndCores) {
  const Placement placement{rank_on(0, cores(0, 4), 1), rank_on(0, cores(0, 4), 1),
                            rank_on(0, cores(4, 2), 1), rank_on(3, cores(0, 4), 1)};
  EXPECT_EQ(core_share(placement, 0).cores, 4);
  EXPECT_EQ(core_share(placement, 0).ranks, 2);
  EXPECT_EQ(core_share(placement, 2).cores, 2);
  EXPECT_EQ(core_share(placement, 2).ranks, 1);
  EXPECT_EQ(core_share(placement, 3).ranks, 1);
}

TEST(PlacementTable, ShowsARankInALineAndNodesThatAreAlikeOnce) {
  const Placement placement{rank_on(0, cores(0, 4), 4), with_device(rank_on(0, cores(4, 1), 1), 1, 0xab),
                            rank_on(2, all, 8), rank_on(3, all, 8), rank_on(4, all, 8)};
  EXPECT_EQ(placement_table(placement),
            "# rank  node  cores        threads  device\n"
            "#    0  n0    0-3                4  none\n"
            "#    1  n0    4                  1  GPU-ab000000\n"
            "#    2  n2    0-7                8  none\n"
            "# laid out so: 2 more nodes, the last one n4");
}

TEST(CoreSets, AreListedAsTasksetDoes) {
  EXPECT_EQ(list_of(cores(0, 8)), "0-7");
  EXPECT_EQ(list_of(cores(0, 1) | cores(2, 2) | cores(1023, 1)), "0,2-3,1023");
  EXPECT_EQ(list_of({}), "none");
}

TEST(CoreSets, HaveTheHardwareThreadsThatTheSystemListsForACore) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("cores-{}", getpid());
  const auto list = [&](int core, const char* line) {
    const std::filesystem::path topology = folder / fmt::format("cpu{}/topology", core);
    std::filesystem::create_directories(topology);
    std::ofstream(topology / "thread_siblings_list") << line << '\n';
  };
  list(0, "0,64");
  list(2, "2-3");
  list(5, "5");
  list(6, "4,6-7,70-71,9999");
  const std::string root = folder.string();
  EXPECT_EQ(list_of(with_siblings(cores(0, 1), root)), "0,64");
  EXPECT_EQ(list_of(with_siblings(cores(2, 1) | cores(5, 1), root)), "2-3,5");
  EXPECT_EQ(list_of(with_siblings(cores(6, 1), root)), "4,6-7,70-71");
  EXPECT_EQ(list_of(with_siblings(cores(8, 2), root)), "8-9");  // it says nothing of them
  std::filesystem::remove_all(folder);
}

TEST(CoreSets, OfThisProcessAreAmongThoseThatItCouldHave) {
  EXPECT_TRUE(bound_cores().any());
  EXPECT_TRUE((bound_cores() & ~usable_cores()).none());
}

}  // namespace
