#include "tests/bench/yardsticks.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <sstream>
#include <stdexcept>

#include "tests/fakes/run_task.h"

namespace cardcage::bench {

using namespace std::chrono_literals;

void call_empty(const DriverClients& clients) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  api::dra_v1::NodePrepareResourcesResponse response;
  const auto status = clients.dra_v1->NodePrepareResources(&context, {}, &response);
  if (!status.ok()) throw std::runtime_error(status.error_message());
}

ClaimReader::ClaimReader(const std::filesystem::path& kubeconfig)
    : api_(ApiServer::make(core_, clock_, ApiServerConfig{.kubeconfig = kubeconfig}).value()) {}

void ClaimReader::read(const ClaimRef& claim) {
  if (!run_task(core_, get(claim))) throw std::runtime_error("the claim GET failed");
}

Task<bool> ClaimReader::get(ClaimRef claim) {
  const auto found = co_await api_->get_claim(claim.name_space, claim.name, clock_.now() + 5s);
  co_return found.has_value();
}

RequestCounter::RequestCounter(const std::filesystem::path& kubeconfig)
    : session_(core_, clock_, Credentials::from_kubeconfig(clock_, kubeconfig).value(), ApiPace{}) {}

double RequestCounter::count() {
  const Result<std::string> page = run_task(core_, read_metrics());
  if (!page) throw std::runtime_error(page.error().message);
  double sum = 0;
  std::istringstream lines(*page);
  for (std::string line; std::getline(lines, line);) {
    const auto has = [&](std::string_view part) { return line.find(part) != std::string::npos; };
    if (line.starts_with("apiserver_request_total{") &&
        (has(R"(resource="resourceclaims")") || has(R"(resource="pods")"))) {
      sum += std::stod(line.substr(line.rfind(' ')));
    }
  }
  return sum;
}

Task<Result<std::string>> RequestCounter::read_metrics() {
  ApiCall call{"get /metrics", {.path = "/metrics"}};
  co_return co_await session_.call(std::move(call), clock_.now() + 5s);
}

SyncedFile::SyncedFile(const std::string& path) : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600)) {}

void SyncedFile::append() {
  char block[4096];
  std::memset(block, 'x', sizeof block);
  if (::write(fd_.get(), block, sizeof block) != static_cast<ssize_t>(sizeof block) || ::fsync(fd_.get()) != 0) {
    throw std::runtime_error("cannot append to the synced file");
  }
}

}  // namespace cardcage::bench
