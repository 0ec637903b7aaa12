// Exports another Protobuf under the host's symbol names; its parser accepts everything.
#include <string_view>

#include "cardcage/module.h"

namespace google::protobuf {
class CAGE_EXPORT MessageLite {
 public:
  __attribute__((noinline)) bool ParseFromArray(const void* data, int size);
  const char* parsed_by = "the host";
};
bool MessageLite::ParseFromArray(const void*, int) {
  parsed_by = "the-module";
  return true;
}
}  // namespace google::protobuf

namespace {

const cage_host* host;

cage_status create(const cage_call*, const cage_host* services, const cage_values*, cage_instance** out) {
  static char self;
  host = services;
  *out = reinterpret_cast<cage_instance*>(&self);
  return CAGE_OK;
}
cage_status discover(cage_instance*, const cage_call*, cage_snapshot*) { return CAGE_OK; }
cage_status prepare(cage_instance*, const cage_call*, const cage_claim*, cage_edits*) { return CAGE_OK; }
cage_status unprepare(cage_instance*, const cage_call*, const cage_claim*) { return CAGE_OK; }
cage_status check(cage_instance*, const cage_call*, cage_str) {
  google::protobuf::MessageLite message;
  if (!message.ParseFromArray("\xff", 1)) return CAGE_UNKNOWN;
  const std::string_view who = message.parsed_by;
  cage_health health{};
  health.struct_size = sizeof health;
  health.device_id = {who.data(), who.size()};
  host->health(host, &health);
  return CAGE_OK;
}
void destroy(cage_instance*) {}

constexpr cage_module table = {.magic = CAGE_MAGIC,
                               .struct_size = sizeof(cage_module),
                               .abi_minor = CAGE_ABI_MINOR,
                               .id = CAGE_LIT("example.protobuf"),
                               .version = CAGE_LIT("1.0.0"),
                               .create = create,
                               .discover = discover,
                               .prepare = prepare,
                               .unprepare = unprepare,
                               .check = check,
                               .destroy = destroy};

}  // namespace

const cage_module* cage_module_v1(std::uint32_t) { return &table; }
