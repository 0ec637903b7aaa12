// No configuration of another program crashes the import, or the reader of its output.
//   build/fuzz/bin/import_fuzz -max_len=4096 CORPUS
#include <cstdint>
#include <string>
#include <tuple>

#include "ctl/import/device_nodes.h"
#include "ctl/import/nvidia.h"
#include "ctl/import/sriov.h"
#include "ctl/import/toml.h"
#include "host/config/config.h"

namespace cardcage {
namespace {

using Import = ImportDraft (*)(const YamlNode& document, const std::string& chosen, ImportRecord& record);

void import_with(Import import, const YamlNode& document) {
  ImportRecord record("fuzz.yaml", "a vendor");
  const ImportDraft draft = import(document, "", record);
  if (record.failed() || draft.tables.empty()) return;
  const auto environment = [](const std::string& name) {
    return name == "NODE_NAME" ? std::optional<std::string>("node1") : std::nullopt;
  };
  std::ignore = parse_config(render_toml("made", draft.tables, record.settings()), "made.toml", environment);
}

}  // namespace
}  // namespace cardcage

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const auto document = cardcage::read_yaml(text, "fuzz.yaml");
  if (!document) return 0;
  for (const cardcage::Import import :
       {cardcage::import_nvidia, cardcage::import_sriov, cardcage::import_generic_device_plugin,
        cardcage::import_smarter_device_manager})
    cardcage::import_with(import, *document);
  return 0;
}
