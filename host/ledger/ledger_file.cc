#include "host/ledger/ledger_file.h"

#include "host/cdi/writer.h"
#include "host/core/log.h"
#include "host/ledger/damaged_file.h"

namespace cardcage {
namespace {

Result<OpenedLedger> open_and_load(const std::filesystem::path& file, HistoryBounds bounds,
                                   HistoryBounds health_bounds) {
  auto store = LedgerStore::open(file, bounds, health_bounds);
  if (!store) return std::unexpected(store.error());
  auto loaded = (*store)->load();
  if (!loaded) return std::unexpected(loaded.error());
  auto health = (*store)->health().load();
  if (!health) return std::unexpected(health.error());
  return OpenedLedger{std::move(*store), std::move(loaded->readable), std::move(loaded->damaged), std::move(*health)};
}

Status set_claims_aside(OpenedLedger& opened) {
  if (opened.damaged.empty()) return {};
  for (const ClaimKey& key : opened.damaged)
    log(LogLevel::kError,
        "the ledger's rows of a claim are damaged and were set aside in its table damaged_parts; the claim is rebuilt "
        "from its CDI file, module state is lost",
        {{"driver", key.driver}, {"claim", key.uid}});
  return opened.store->quarantine(opened.damaged);
}

Status set_ledger_aside(const std::filesystem::path& file, WallTime now, const Error& why) {
  // The log goes with its file: next to a fresh database it would damage that, too.
  const auto aside = set_aside(file, now, {"-wal", "-shm"});
  if (!aside) return std::unexpected(aside.error());
  log(LogLevel::kError,
      "the ledger is damaged and was set aside; claims are rebuilt from the CDI files, "
      "module state, history, and what was known of the health of devices are lost; cordon the devices again that "
      "must not get new pods",
      {{"file", file.native()}, {"aside", aside->native()}, {"cause", why.message}});
  return {};
}

}  // namespace

std::vector<ClaimRecord> claims_from_cdi(const std::filesystem::path& cdi_folder, const std::string& boot_id) {
  const CdiWriter cdi(cdi_folder);
  std::vector<ClaimRecord> claims;
  const auto files = cdi.list();
  if (!files) {
    log(LogLevel::kError, "claims cannot be rebuilt", {{"cause", files.error().message}});
    return claims;
  }
  for (const ClaimFile& file : *files) {
    const auto spec = cdi.read(file);
    if (!spec) {
      log(LogLevel::kError, "claim cannot be rebuilt", {{"claim", file.uid}, {"cause", spec.error().message}});
      continue;
    }
    ModulePart part;
    part.edits = spec->edits;
    for (const CdiDevice& device : spec->devices) {
      const auto name = file.served.is_resource() ? std::optional(CdiDeviceParts{device.name, {}})
                                                  : parse_cdi_device_name(device.name, file.uid);
      if (!name) continue;
      HeldDevice& held = part.devices.emplace_back();
      held.allocation.driver = file.served.name;
      held.allocation.device = name->device;
      held.allocation.share_id = name->share_id;
      held.cdi_name = device.name;
      held.edits = device.edits;
    }
    claims.push_back({.driver = file.served.name,
                      .ref = {"", "", file.uid},
                      .phase = ClaimPhase::kPreparing,
                      .boot_id = boot_id,
                      .begun = {},
                      .prepared = {},
                      .parts = {std::move(part)}});
  }
  return claims;
}

Result<OpenedLedger> open_ledger_file(const std::filesystem::path& file, const std::filesystem::path& cdi_folder,
                                      const std::string& boot_id, HistoryBounds bounds, HistoryBounds health_bounds,
                                      WallTime now) {
  auto opened = open_and_load(file, bounds, health_bounds);
  if (!opened && opened.error().code == Code::kDataLoss) {
    if (auto aside = set_ledger_aside(file, now, opened.error()); !aside) return std::unexpected(aside.error());
    opened = open_and_load(file, bounds, health_bounds);
    if (opened) opened->rebuilt = true;
  }
  if (!opened || (!opened->store->fresh() && opened->damaged.empty())) return opened;
  if (auto aside = set_claims_aside(*opened); !aside) return std::unexpected(aside.error());
  std::vector<LedgerChange> changes;
  for (ClaimRecord& claim : claims_from_cdi(cdi_folder, boot_id)) {
    if (!opened->store->fresh() && !opened->damaged.contains(claim.key())) continue;
    changes.push_back({std::make_shared<ClaimRecord>(claim), std::nullopt, Durability::kNode});
    opened->claims.push_back(std::move(claim));
  }
  if (changes.empty()) return opened;
  if (auto written = opened->store->write(changes); !written) return std::unexpected(written.error());
  opened->rebuilt = true;
  log(LogLevel::kWarn, "claims were rebuilt from CDI files", {{"claims", changes.size()}});
  return opened;
}

}  // namespace cardcage
