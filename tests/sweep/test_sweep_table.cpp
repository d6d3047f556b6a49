// The rows of sweep.csv.
#include "mylos/sweep/state/sweep_table.hpp"

#include <gtest/gtest.h>

namespace mylos::sweep_table_test {

TEST(SweepTable, HasARowForEachMember) {
  const std::vector<SweepKey> keys{{.key = "optimizer.lr", .values = {"1e-3", "1e-2"}},
                                   {.key = "model.hidden", .values = {"[64,32]", "[8]"}}};
  const std::vector<Trial> trials{{"1e-3", "[64,32]"}, {"1e-3", "[8]"}, {"1e-2", "[64,32]"}, {"1e-2", "[8]"}};
  const MemberResult first{
      .state = MemberState::stopped, .steps = 10, .value = 0.5, .best = 0.25, .best_step = 8, .seconds = 1.5};
  const MemberResult last{.state = MemberState::done,
                          .steps = 30,
                          .value = 0.75,
                          .best = 0.125,
                          .best_step = 20,
                          .seconds = 2,
                          .ranks = 2};
  const std::vector<MemberRow> rows{
      row_of({}, false), row_of({first}, true), row_of({first, last}, false),
      row_of({{.state = MemberState::failed, .cause = "no \"x\",\nrow 7"}}, false)};
  EXPECT_EQ(sweep_csv(rows, keys, trials),
            "member,state,rung,steps,value,best_step,seconds,ranks,folder,cause,optimizer.lr,model.hidden\n"
            "0000,waiting,0,0,,,0.000,0,members/0000,,1e-3,\"[64,32]\"\n"
            "0001,running,1,10,0.25,8,1.500,1,members/0001,,1e-3,[8]\n"
            "0002,done,1,30,0.125,20,3.500,2,members/0002,,1e-2,\"[64,32]\"\n"
            "0003,failed,0,0,,,0.000,1,members/0003,\"no \"\"x\"\", row 7\",1e-2,[8]\n");
}

}  // namespace mylos::sweep_table_test
