#include "host/view/catalogue_report.h"

namespace cardcage {
namespace {

Task<void> collect(CatalogueSource source, Instant deadline, OneShot<CatalogueReport> done) {
  CatalogueReport report{.module = source.module};
  if (source.instance) {
    Result<Catalogue> catalogue = co_await (*source.instance)->call(CollectCatalogueCall{}, deadline);
    if (catalogue)
      report.catalogue = std::move(*catalogue);
    else
      report.problem = std::move(catalogue.error().message);
  } else {
    report.problem = std::move(source.instance.error().message);
  }
  done.set(std::move(report));
}

}  // namespace

Task<std::vector<CatalogueReport>> collect_catalogues(asio::io_context& core, Clock& clock,
                                                      std::vector<CatalogueSource> sources) {
  const Instant deadline = clock.now() + kCatalogueLimit;
  std::vector<OneShot<CatalogueReport>> pending;
  for (CatalogueSource& source : sources) {
    pending.emplace_back(core);
    spawn(core, collect(std::move(source), deadline, pending.back()));
  }
  std::vector<CatalogueReport> reports;
  for (const auto& one : pending) reports.push_back(co_await one.wait());
  co_return reports;
}

}  // namespace cardcage
