// [[model.initialize]]: the distributions of initial values.
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/sections.hpp"

namespace mylos {

void add_initialize_keys(Key& initialize) {
  auto keys = tables_of(
      initialize, [](auto& options) -> auto& { return options.model.initialize; });
  constexpr NumberRange positive{0, false, 1000, true};
  keys.add("match", &InitialRule::match, patterns_type("name or list of names, '*' for any characters"),
           "The parameters, by name. Required.")
      .require();
  using enum Initializer;
  Key& kind = keys.choice("kind", &InitialRule::kind,
                          Words<Initializer>{{"xavier_uniform", xavier_uniform},
                                             {"xavier_normal", xavier_normal},
                                             {"he_uniform", he_uniform},
                                             {"he_normal", he_normal},
                                             {"orthogonal", orthogonal},
                                             {"normal", normal},
                                             {"uniform", uniform},
                                             {"constant", constant}},
                          "The distribution. Required.");
  kind.require();
  keys.number("gain", &InitialRule::gain, positive, "", "Factor of the values.")
      .by_default("1, for he sqrt(2)")
      .limit(with(kind, {"xavier_uniform", "xavier_normal", "he_uniform", "he_normal", "orthogonal"}));
  keys.number("std", &InitialRule::std, positive, "", "Standard deviation. Required.")
      .limit(with(kind, {"normal"}))
      .require();
  keys.number("bound", &InitialRule::bound, positive, "", "Largest magnitude. Required.")
      .limit(with(kind, {"uniform"}))
      .require();
  keys.number("value", &InitialRule::value, {-1e30, true, 1e30, true}, "", "The value. Required.")
      .limit(with(kind, {"constant"}))
      .require();
}

}  // namespace mylos
