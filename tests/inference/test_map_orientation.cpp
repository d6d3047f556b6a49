#include "mylos/inference/rollout/map_orientation.hpp"

#include <gtest/gtest.h>

#include "data/arrays/array_builders.hpp"

namespace mylos {
namespace {

using namespace testing_support;

/// Whether fields u(time, `name`, x) run north where the axis `name` has these coordinates and attribute.
bool run_north(const std::string& name, const std::string& values, const std::string& attribute = "") {
  const TemporaryFolder folder;
  write_arrays(folder / "a.h5", "f['u'] = code(2, 3, 2); f['" + name + "'] = n.array(" + values +
                                    "); s = f['" + name + "']\n" +
                                    (attribute.empty() ? "" : "s.attrs." + attribute + "\n") +
                                    "s.make_scale('" + name + "'); f['u'].dims[1].attach_scale(s)");
  return rows_run_north(*open_array_store({folder / "a.h5"}, one_array("/u", {"time", name, "x"})));
}

TEST(MapOrientation, FollowsAscendingAndDescendingLatitudes) {
  EXPECT_TRUE(run_north("lat", "[-60.0, 0, 60]"));
  EXPECT_FALSE(run_north("lat", "[60.0, 0, -60]"));
  EXPECT_TRUE(run_north("j", "[-60.0, 0, 60]", "update(units='degrees_north')"));
  EXPECT_TRUE(run_north("j", "[0.0, 1, 2]", "update(standard_name='projection_y_coordinate')"));
  EXPECT_TRUE(run_north("j", "[0.0, 1, 2]", "update(axis='Y')"));
  EXPECT_FALSE(run_north("j", "[0.0, 1, 2]", "update(axis='Z')"));
  EXPECT_FALSE(run_north("depth", "[0.0, 1, 2]")) << "downwards";
}

TEST(MapOrientation, IsThatOfTheFileWithoutCoordinates) {
  const TemporaryFolder folder;
  write_arrays(folder / "a.h5", "f['u'] = code(2, 3, 2)");
  EXPECT_FALSE(rows_run_north(*open_array_store({folder / "a.h5"}, one_array("/u", {"time", "lat", "lon"}))));
  EXPECT_FALSE(rows_run_north(*open_array_store({folder / "a.h5"}, one_array("/u", {"sample", "time", "x"}))))
      << "a line has no rows";
}

}  // namespace
}  // namespace mylos
