#include "mylos/planner/segments.hpp"

#include <algorithm>
#include <unordered_map>

namespace mylos {
namespace {

/// Numbers pairs of numbers below 2³², equal pairs alike.
class PairNumbers {
 public:
  [[nodiscard]] std::uint32_t of(std::size_t a, std::size_t b) {
    const auto next = static_cast<std::uint32_t>(numbers_.size());
    return numbers_.try_emplace(std::uint64_t{a} << 32 | b, next).first->second;
  }

 private:
  struct Mix {
    std::size_t operator()(std::uint64_t key) const {
      key *= 0x9e3779b97f4a7c15u;  // 2⁶⁴ over the golden ratio
      return key ^ key >> 32;
    }
  };
  std::unordered_map<std::uint64_t, std::uint32_t, Mix> numbers_;
};

/// Apart from what is carried past a stage, which has a different meaning at each place.
bool are_equal(const Stage& a, const Stage& b) {
  return a.input == b.input && a.input_gradient == b.input_gradient && a.output == b.output &&
         a.output_gradient == b.output_gradient && a.pass_workspace == b.pass_workspace &&
         a.forward_time == b.forward_time && a.variants == b.variants;
}

/// For each stage the number of its kind.
std::vector<std::size_t> stage_kinds(const std::vector<Stage>& stages) {
  std::vector<std::size_t> kinds;
  std::vector<std::size_t> examples;
  for (const Stage& stage : stages) {
    const auto found = std::find_if(examples.begin(), examples.end(),
                                    [&](std::size_t example) { return are_equal(stages[example], stage); });
    kinds.push_back(static_cast<std::size_t>(found - examples.begin()));
    if (found == examples.end()) examples.push_back(kinds.size() - 1);
  }
  return kinds;
}

/// Numbers for the bytes that are carried past x_k beside x_i.
class CarriedNumbers {
 public:
  [[nodiscard]] std::size_t of(const Stage& stage, std::size_t i) {
    if (stage.carried.empty()) return 0;
    return numbers_.try_emplace(stage.carried[i], numbers_.size()).first->second;
  }

 private:
  std::unordered_map<std::size_t, std::size_t> numbers_{{0, 0}};
};

}  // namespace

Segments::Segments(const std::vector<Stage>& stages) : count_(stages.size()) {
  constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);
  const std::vector<std::size_t> stage_kind = stage_kinds(stages);
  kind_of_.resize(count_ * (count_ + 1) / 2);
  CarriedNumbers carried_numbers;
  PairNumbers carried_lists;  // a list and a number behind it
  PairNumbers beginnings;     // a stage and what is carried past those that follow
  PairNumbers segments;       // a beginning and the segment that follows
  std::vector<std::uint32_t> kind_of_number;
  std::vector<std::size_t> carried(count_, 0);  // of each i, the list for the stages i + 1 … k
  for (std::size_t k = 0; k < count_; ++k) {
    std::size_t rest = 0;  // of (i + 1, k); 0: nothing follows
    for (std::size_t i = k + 1; i-- > 0;) {
      if (i < k) carried[i] = 1 + carried_lists.of(carried[i], carried_numbers.of(stages[k], i));
      const std::uint32_t number = segments.of(beginnings.of(stage_kind[i], carried[i]), rest);
      if (number >= kind_of_number.size()) kind_of_number.resize(number + 1, none);
      if (kind_of_number[number] == none) {
        kind_of_number[number] = static_cast<std::uint32_t>(kinds_.size());
        kinds_.push_back({i, k});
        splits_ += k - i;
      }
      kind_of_[i * (2 * count_ - i + 1) / 2 + k - i] = kind_of_number[number];
      rest = number + 1;
    }
  }
}

}  // namespace mylos
