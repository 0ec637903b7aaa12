// Identities and options.
#include "host/wire/messages.h"

namespace cardcage {
namespace {

using Declarations = google::protobuf::RepeatedPtrField<wire::OptionDeclaration>;

void write(const std::vector<OptionDeclaration>& from, Declarations& to) {
  for (const OptionDeclaration& declaration : from) {
    wire::OptionDeclaration& out = *to.Add();
    out.set_name(declaration.name);
    out.set_type(static_cast<std::uint32_t>(declaration.type));
    out.set_required(declaration.required);
    out.set_secret(declaration.secret);
    out.set_live(declaration.live);
    out.set_default_text(declaration.default_text);
    out.set_help(declaration.help);
    cardcage::write(declaration.choices, *out.mutable_choices());
    out.set_min(declaration.min);
    out.set_max(declaration.max);
  }
}

std::vector<OptionDeclaration> read(const Declarations& from) {
  std::vector<OptionDeclaration> declarations;
  for (const wire::OptionDeclaration& in : from) {
    const auto type = std::clamp(in.type(), 1u, static_cast<std::uint32_t>(OptionType::kList));
    declarations.push_back({.name = in.name(),
                            .type = static_cast<OptionType>(type),
                            .required = in.required(),
                            .secret = in.secret(),
                            .live = in.live(),
                            .default_text = in.default_text(),
                            .help = in.help(),
                            .choices = cardcage::read(in.choices()),
                            .min = in.min(),
                            .max = in.max()});
  }
  return declarations;
}

}  // namespace

void write(const ModuleIdentity& from, wire::Identity& to) {
  to.set_id(from.id);
  to.set_version(from.version);
  to.set_vendor(from.vendor);
  to.set_abi_minor(from.abi_minor);
  to.set_state_version(from.state_version);
  to.set_process_only(from.process_only);
  to.set_concurrent(from.concurrent);
  to.set_has_check(from.has_check);
  to.set_has_quiesce(from.has_quiesce);
  to.set_has_preferred(from.has_preferred);
  to.set_has_pre_start(from.has_pre_start);
  to.set_has_reconcile(from.has_reconcile);
  write(from.options, *to.mutable_options());
  write(from.params, *to.mutable_params());
  to.set_params_api_version(from.params_api_version);
  to.set_params_kind(from.params_kind);
}

ModuleIdentity read(const wire::Identity& from) {
  return {.id = from.id(),
          .version = from.version(),
          .vendor = from.vendor(),
          .abi_minor = from.abi_minor(),
          .state_version = from.state_version(),
          .process_only = from.process_only(),
          .concurrent = from.concurrent(),
          .has_check = from.has_check(),
          .has_quiesce = from.has_quiesce(),
          .has_preferred = from.has_preferred(),
          .has_pre_start = from.has_pre_start(),
          .has_reconcile = from.has_reconcile(),
          .options = read(from.options()),
          .params = read(from.params()),
          .params_api_version = from.params_api_version(),
          .params_kind = from.params_kind(),
          .sha256 = {}};
}

void write(const OptionValues& from, google::protobuf::RepeatedPtrField<wire::OptionValue>& to) {
  for (const auto& [name, entry] : from.entries) {
    wire::OptionValue& out = *to.Add();
    out.set_name(name);
    out.set_given(entry.given);
    if (const auto* text = std::get_if<std::string>(&entry.value)) out.set_text(*text);
    if (const auto* integer = std::get_if<std::int64_t>(&entry.value)) out.set_integer(*integer);
    if (const auto* flag = std::get_if<bool>(&entry.value)) out.set_flag(*flag);
    if (const auto* list = std::get_if<std::vector<std::string>>(&entry.value))
      write(*list, *out.mutable_list()->mutable_texts());
  }
}

OptionValues read(const google::protobuf::RepeatedPtrField<wire::OptionValue>& from) {
  OptionValues values;
  for (const wire::OptionValue& in : from) {
    OptionValues::Entry& entry = values.entries[in.name()];
    entry.given = in.given();
    switch (in.value_case()) {
      case wire::OptionValue::kInteger: entry.value = std::int64_t{in.integer()}; break;
      case wire::OptionValue::kFlag: entry.value = in.flag(); break;
      case wire::OptionValue::kList: entry.value = read(in.list().texts()); break;
      default: entry.value = in.text();
    }
  }
  return values;
}

void write(const std::vector<std::string>& from, google::protobuf::RepeatedPtrField<std::string>& to) {
  to.Add(from.begin(), from.end());
}

std::vector<std::string> read(const google::protobuf::RepeatedPtrField<std::string>& from) {
  return {from.begin(), from.end()};
}

}  // namespace cardcage
