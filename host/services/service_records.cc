#include "host/services/service_records.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "host/core/digest.h"
#include "host/core/file.h"
#include "host/core/json_fields.h"
#include "host/core/log.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxRecord = std::size_t{1} << 20, kDigest = 16;

// A record in the form of its file.
struct StoredService {
  std::string boot, module, claim, name, file, group, begun;
  std::vector<std::string> arguments, environment;
  pid_t pid = 0;
};

template <class Fields>
void describe(Fields& fields, StoredService& service) {
  fields("boot", service.boot);
  fields("module", service.module);
  fields("claim", service.claim);
  fields("name", service.name);
  fields("file", service.file);
  fields("arguments", service.arguments);
  fields("environment", service.environment);
  fields("pid", service.pid);
  fields("begun", service.begun);
  fields("group", service.group);
}

Result<StoredService> read_record(const fs::path& file) {
  const auto content = read_file(file, kMaxRecord);
  if (!content) return std::unexpected(content.error());
  json::parse_options options;
  options.allow_invalid_utf8 = true;  // arguments are bytes
  boost::system::error_code wrong;
  const json::value value = json::parse(*content, wrong, {}, options);
  StoredService stored;
  if (wrong || !from_json_value(value, stored)) return fail(Code::kInternal, "'{}' is damaged", file.native());
  return stored;
}

}  // namespace

std::string ServiceKey::digest() const {
  return sha256_hex(fmt::format("{}\n{}\n{}", module, claim_uid, name)).substr(0, kDigest);
}

std::vector<ServiceRecord> ServiceRecords::read() const {
  std::vector<ServiceRecord> records;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    if (entry.path().filename().native().starts_with('.')) continue;
    auto stored = read_record(entry.path());
    if (stored && stored->boot == boot_id_) {
      records.push_back({{stored->module, stored->claim, stored->name},
                         {stored->file, std::move(stored->arguments), std::move(stored->environment)},
                         stored->pid,
                         stored->begun,
                         stored->group});
      continue;
    }
    if (!stored)
      log(LogLevel::kError, "the record of a service is removed: what it says cannot be read, so it may still run",
          {{"error", stored.error().message}});
    fs::remove(entry.path(), ignored);
  }
  return records;
}

bool ServiceRecords::has(const ServiceKey& key) const {
  std::error_code unknown;
  return fs::exists(file_of(key), unknown);
}

// Writes without a sync: the record need not outlive the node.
Status ServiceRecords::keep(ServiceRecord record) const {
  if (auto made = make_folder(folder_, 0700); !made) return made;
  const StoredService stored{boot_id_,
                             record.key.module,
                             record.key.claim_uid,
                             record.key.name,
                             record.command.file.native(),
                             record.group.native(),
                             record.begun,
                             std::move(record.command.arguments),
                             std::move(record.command.environment),
                             record.pid};
  return write_file_atomically(file_of(record.key), to_json_text(stored), 0600,
                               /*durable=*/false);
}

void ServiceRecords::forget(const ServiceKey& key) const {
  std::error_code failed;
  fs::remove(file_of(key), failed);
  if (failed)
    log(LogLevel::kWarn, "the record of a service that has ended cannot be removed; the next daemon removes it",
        {{"file", file_of(key).native()}, {"error", failed.message()}});
}

}  // namespace cardcage
