// Writes samples of the closed form, on which `mylos` trains the network.
// usage: flame_table FILE.csv
#include <cmath>
#include <cstdio>

#include "rate.hpp"

int main(int count, char** texts) {
  std::FILE* file = count == 2 ? std::fopen(texts[1], "w") : nullptr;
  if (file == nullptr) {
    std::fputs("usage: flame_table FILE.csv, in a folder that can be written\n", stderr);
    return 2;
  }
  std::fputs("temperature,fuel,rate\n", file);
  for (int i = 0; i < 20000; ++i) {
    // M. Roberts, "The unreasonable effectiveness of quasirandom sequences", 2018.
    const double a = 0.7548776662466927 * i;
    const double b = 0.5698402909980532 * i;
    // Mixtures of flames keep temperature + fuel between those of the fresh gas, here 0.8 and 1.2.
    const double sum = 0.75 + 0.5 * (a - std::floor(a));
    const double temperature = (sum + 0.1) * (b - std::floor(b)) - 0.05;
    const double fuel = sum - temperature;
    std::fprintf(file, "%.9g,%.9g,%.9g\n", temperature, fuel, flame::reaction_rate(temperature, fuel));
  }
  return std::fclose(file) == 0 ? 0 : 1;
}
