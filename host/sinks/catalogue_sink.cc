#include "host/sinks/catalogue_sink.h"

#include "host/model/naming.h"
#include "host/sinks/borrowed.h"
#include "host/sinks/device_copy.h"
#include "host/sinks/left_out.h"

namespace cardcage {
namespace {

Result<CatalogueEntry> copy_entry(const cage_catalogue_entry& given) {
  CatalogueEntry entry;
  if (const std::uint32_t unknown = given.flags & ~static_cast<std::uint32_t>(CAGE_CATALOGUE_REFUSED); unknown != 0)
    return fail(Code::kInvalidArgument, "flags 0x{:x} are unknown [R16]", unknown);
  entry.refused = (given.flags & CAGE_CATALOGUE_REFUSED) != 0;
  auto kind = ruled_text(given.kind, is_dns_label, "kind", "a word of lower-case letters, digits and '-'");
  if (!kind) return std::unexpected(std::move(kind.error()));
  entry.kind = std::move(*kind);
  auto name = ruled_text(given.name, is_entry_name, "name", "one line of UTF-8 of 1 to 253 bytes");
  if (!name) return std::unexpected(std::move(name.error()));
  entry.name = std::move(*name);
  const auto detail = text_of(given.detail, 1 << 20, "detail");
  if (!detail) return std::unexpected(detail.error());
  entry.detail = printable(*detail, kMaxEntryDetail);
  auto attributes = copy_attributes(given.attrs, given.attr_count);
  if (!attributes) return std::unexpected(std::move(attributes.error()));
  entry.attributes = std::move(*attributes);
  return entry;
}

}  // namespace

CatalogueSink::CatalogueSink(const std::string& module) : SinkGuard(module, "cage_catalogue_sink") {
  table_.struct_size = sizeof table_;
  table_.host_data = this;
  table_.entry = call<&CatalogueSink::add>;
}

cage_catalogue_sink* CatalogueSink::open() {
  collected_ = {};
  usable_.clear();
  text_ = 0;
  full_ = false;
  SinkGuard::open();
  return &table_;
}

Catalogue CatalogueSink::finish() {
  close();
  usable_.clear();
  return std::exchange(collected_, {});
}

Status CatalogueSink::add(const cage_catalogue_entry* given) {
  if (full_) {  // a flood costs only the module's time
    ++collected_.left_out.count;
    return std::unexpected(Error{Code::kResourceExhausted, ""});
  }
  const auto adopted = adopt(given, "cage_catalogue_entry");
  if (!adopted) return leave_out(collected_.left_out, module(), {"R22", "catalogue entry"}, "?", adopted.error());
  auto entry = copy_entry(*adopted);
  const Status kept = entry ? keep(std::move(*entry)) : std::unexpected(std::move(entry.error()));
  if (kept) return {};
  full_ = kept.error().code == Code::kResourceExhausted;
  return leave_out(collected_.left_out, module(), {"R22", "catalogue entry"}, shown_name(adopted->name), kept.error());
}

Status CatalogueSink::keep(CatalogueEntry entry) {
  const std::size_t size = entry.kind.size() + entry.name.size() + entry.detail.size() + size_of(entry.attributes);
  if (collected_.entries.size() == kMaxCatalogueEntries || text_ + size > kMaxCatalogueText)
    return fail(Code::kResourceExhausted, "a catalogue has at most {} entries and {} MiB of text", kMaxCatalogueEntries,
                kMaxCatalogueText >> 20);
  if (!entry.refused && !usable_.emplace(entry.kind, entry.name).second)
    return fail(Code::kAlreadyExists,
                "another {} that claims can name has this name: refuse all of that name, or all but one", entry.kind);
  collected_.entries.push_back(std::move(entry));
  text_ += size;
  return {};
}

}  // namespace cardcage
