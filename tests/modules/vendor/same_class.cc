// Built twice, as two modules whose classes have the same name.
#include "cardcage/sdk.hpp"

class Acme final : public cage::Module {
 public:
  static constexpr std::string_view id = "com.acme.card", version = MODULE_VERSION, vendor = "Acme";
  static constexpr std::array declared_options{cage::Option::boolean("fast", "false", MODULE_VERSION)};
  Acme(const cage::Call&, cage::Host, const cage::Values&) {}
  void discover(const cage::Call&, cage::Snapshot&) override {}
  void prepare(const cage::Call&, const cage::Claim&, cage::Edits&) override {}
  void unprepare(const cage::Call&, const cage::Claim&) override {}
};
CARDCAGE_MODULE(Acme)
