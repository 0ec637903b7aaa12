// No opaque parameters in a claim or a class crash the daemon, and accepted ones match their declaration.
//   build/fuzz/bin/params_fuzz -max_len=10240 CORPUS
#include <cstdint>
#include <cstdlib>

#include "host/config/params.h"
#include "host/model/text_rules.h"

namespace {

cardcage::ModuleIdentity make_identity() {
  using cardcage::OptionType;
  cardcage::ModuleIdentity identity;
  cardcage::ParamsSchema& schema = identity.schemas.emplace_back();
  schema.kind = "K";
  for (const auto& [name, type] :
       {std::pair("s", OptionType::kString), std::pair("i", OptionType::kInteger), std::pair("b", OptionType::kBoolean),
        std::pair("d", OptionType::kDuration), std::pair("l", OptionType::kList),
        std::pair("n.i", OptionType::kInteger), std::pair("n.m.s", OptionType::kMap)}) {
    schema.fields.emplace_back().name = name;
    schema.fields.back().type = type;
    schema.fields.back().max = 100;
  }
  return identity;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const cardcage::ModuleIdentity identity = make_identity();
  const auto decoded =
      cardcage::decode_params(identity, cardcage::ConfigSource::kClaim, {reinterpret_cast<const char*>(bytes), size});
  if (!decoded) {
    if (!cardcage::is_line(decoded.error().message) || decoded.error().message.empty()) std::abort();
    return 0;
  }
  const auto resolved = cardcage::resolve_params(identity, "x", {*decoded});
  if (!resolved || resolved->entries.size() != identity.schemas[0].fields.size()) std::abort();
  const auto& number = std::get<std::int64_t>(resolved->entries.find("i")->second.value);
  if (number < 0 || number > 100) std::abort();
  return 0;
}
