// Throws a standard exception from discover(), an int from prepare(), and once more from destroy().
#include <stdexcept>

#include "cardcage/module.h"

namespace {

cage_status create(const cage_call*, const cage_host*, const cage_values*, cage_instance** out) {
  static char self;
  *out = reinterpret_cast<cage_instance*>(&self);
  return CAGE_OK;
}
cage_status discover(cage_instance*, const cage_call*, cage_snapshot*) { throw std::runtime_error("no driver"); }
cage_status prepare(cage_instance*, const cage_call*, const cage_claim*, cage_edits*) { throw 42; }
cage_status unprepare(cage_instance*, const cage_call*, const cage_claim*) { return CAGE_OK; }
void destroy(cage_instance*) { throw std::logic_error("not here either"); }

cage_module make_table() {
  cage_module table{};
  table.magic = CAGE_MAGIC;
  table.struct_size = sizeof table;
  table.abi_minor = CAGE_ABI_MINOR;
  table.id = CAGE_LIT("example.throwing");
  table.version = CAGE_LIT("1.0.0");
  table.create = create;
  table.discover = discover;
  table.prepare = prepare;
  table.unprepare = unprepare;
  table.destroy = destroy;
  return table;
}

}  // namespace

const cage_module* cage_module_v1(std::uint32_t) {
  static const cage_module table = make_table();
  return &table;
}
