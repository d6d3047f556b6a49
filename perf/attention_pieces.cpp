#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/execution.hpp"
#include "mylos/kernels/attention/attention.hpp"
#include "mylos/kernels/attention/fused_attention.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/kernels/vendor/device_engines.hpp"
#include "pieces.hpp"

namespace mylos::pieces {
namespace {

/// The operands of a micro-batch, and functions that compute some of its samples at a time.
class AttentionLayer {
 public:
  explicit AttentionLayer(const Subject& subject)
      : subject_(subject), all_{subject.samples, subject.context, subject.heads, subject.head_width} {
    all_.type = subject.type;
  }

  /// Only the library, in successive passes over `together` samples. An empty function if it refuses.
  [[nodiscard]] std::function<void()> fused(FusedAttention& library, bool backward, std::int64_t together) {
    const auto pass = [this, &library, backward, together] {
      bool computed = true;
      for (std::int64_t first = 0; first < all_.samples; first += together) {
        AttentionShape part = all_;
        part.samples = std::min(together, all_.samples - first);
        computed = computed && run(library, backward, part, first * all_.length);
      }
      return computed;
    };
    if (!pass()) return {};
    return [pass] { (void)pass(); };
  }

  [[nodiscard]] std::function<void()> pass_of_network(const Engines& engines, bool backward) {
    workspace_ = Arena("workspace", std::max(attention_forward_workspace(engines, all_),
                                             attention_backward_workspace(engines, all_)));
    return [this, engines, backward] {
      if (backward) {
        attention_backward(exec, engines, all_, qkv_.tensor(), output_.tensor(), log_sums(),
                           d_output_.tensor(), d_qkv_.tensor(), {}, workspace_.data());
      } else {
        attention_forward(exec, engines, all_, qkv_.tensor(), output_.tensor(), log_sums(), {},
                          workspace_.data());
      }
    };
  }

  void provide_workspace() {
    workspace_ =
        Arena("workspace",
              std::max({fused_attention::forward_workspace(all_), fused_attention::backward_workspace(all_),
                        fused_attention::backward_workspace(all_, AttentionSums::any_order)}));
  }

  Execution exec;

 private:
  [[nodiscard]] float* log_sums() const { return static_cast<float*>(log_sums_.data()); }

  bool run(FusedAttention& library, bool backward, const AttentionShape& part, std::int64_t row) {
    const std::int64_t rows = part.rows();
    const auto from = [&](const Matrix& matrix) { return matrix.tensor().row_range(row, rows).data(); };
    float* const sums = log_sums() + row * part.heads;
    if (!backward) return library.forward(exec, part, {from(qkv_), from(output_), sums}, workspace_.data());
    return library.backward(exec, part, {from(qkv_), from(output_), sums, from(d_output_), from(d_qkv_)},
                            workspace_.data());
  }

  const Subject& subject_;
  AttentionShape all_;
  Matrix qkv_{subject_.type, subject_.rows(), 3 * subject_.width(), 1};
  Matrix d_qkv_{subject_.type, subject_.rows(), 3 * subject_.width(), 2};
  Matrix output_{subject_.type, subject_.rows(), subject_.width(), 3};
  Matrix d_output_{subject_.type, subject_.rows(), subject_.width(), 4};
  Matrix log_sums_{DType::fp32, subject_.rows(), subject_.heads, 5};
  Arena workspace_;
};

/// FLOPs of the GEMMs within a causal mask.
std::string rate(const Subject& subject, bool backward, double milliseconds) {
  const double flops = (backward ? 5.0 : 2.0) * static_cast<double>(subject.rows() * subject.width()) *
                       static_cast<double>(subject.context + 1);
  return fmt::format("{:.1f} TFLOP/s", 1e-9 * flops / milliseconds);
}

}  // namespace

void measure_attention(const Subject& subject) {
  AttentionLayer layer(subject);
  const auto engines = make_engines({});
  for (const bool backward : {false, true}) {
    const std::string piece = backward ? "attention backward" : "attention forward";
    // Forward first: backward reads its log sums.
    const double milliseconds =
        milliseconds_of(layer.exec, subject.seconds, layer.pass_of_network(*engines, backward));
    print_line(piece, "as in networks", milliseconds, rate(subject, backward, milliseconds));
    layer.provide_workspace();
    for (const AttentionSums sums : {AttentionSums::fixed_order, AttentionSums::any_order}) {
      if (!backward && sums == AttentionSums::any_order) continue;
      const auto library = device_attention(sums);
      const std::string order = !backward                            ? ""
                                : sums == AttentionSums::fixed_order ? ", in a fixed order"
                                                                     : ", in any order";
      for (const std::int64_t together : {2, 4, 8, 16, 32}) {
        if (together > subject.samples) continue;
        const std::string variant = fmt::format("{} samples together{}", together, order);
        if (library == nullptr) {
          print_refusal(piece, variant, "no library here computes it");
        } else if (const auto pass = layer.fused(*library, backward, together)) {
          const double found = milliseconds_of(layer.exec, subject.seconds, pass);
          print_line(piece, variant, found, rate(subject, backward, found));
        } else {
          print_refusal(piece, variant, library->take_refusals());
        }
      }
    }
  }
}

}  // namespace mylos::pieces
