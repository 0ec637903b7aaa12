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
  std::string boot;
  ServiceRecord record;
};

void describe_path(FieldWriter& writer, std::string_view name, const fs::path& path) { writer(name, path.native()); }
void describe_path(FieldReader& reader, std::string_view name, fs::path& path) {
  std::string text;
  reader(name, text);
  path = std::move(text);
}

template <class Fields>
void describe(Fields& fields, StoredService& stored) {
  ServiceRecord& record = stored.record;
  fields("boot", stored.boot);
  fields("module", record.key.module);
  fields("claim", record.key.claim_uid);
  fields("name", record.key.name);
  describe_path(fields, "file", record.command.file);
  fields("arguments", record.command.arguments);
  fields("environment", record.command.environment);
  fields("pid", record.pid);
  fields("begun", record.begun);
  describe_path(fields, "group", record.group);
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
      records.push_back(std::move(stored->record));
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
  const fs::path file = file_of(record.key);
  const std::string content = to_json_text(StoredService{boot_id_, std::move(record)});
  return write_file_atomically(file, content, 0600, /*durable=*/false);
}

void ServiceRecords::forget(const ServiceKey& key) const {
  std::error_code failed;
  fs::remove(file_of(key), failed);
  if (failed)
    log(LogLevel::kWarn, "the record of a service that has ended cannot be removed; the next daemon removes it",
        {{"file", file_of(key).native()}, {"error", failed.message()}});
}

}  // namespace cardcage
