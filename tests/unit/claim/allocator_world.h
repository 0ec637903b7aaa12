// A resource allocator over the fakes of ClaimWorld.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/claim/resource_allocator.h"
#include "tests/unit/claim/claim_world.h"

namespace cardcage {

class AllocatorWorld : public ClaimWorld {
 protected:
  AllocatorWorld() { serve({}); }

  void serve(const ResourceConfig& config) {
    allocator = std::make_unique<ResourceAllocator>(kResource, config,
                                                    ClaimEnvironment{.core = core,
                                                                     .ledger = *ledger,
                                                                     .devices = directory,
                                                                     .cdi = cdi,
                                                                     .clock = clock,
                                                                     .deadlines = deadlines,
                                                                     .host = host,
                                                                     .durability = Durability::kProcess,
                                                                     .repeated = false},
                                                    [this] { ++changes; });
  }
  // Restarts the host.
  void restart() {
    allocator.reset();
    start();
    serve({});
  }
  Result<ContainerGrant> allocate(std::vector<std::string> ids) {
    return run(allocator->allocate(std::move(ids), soon()));
  }
  Status release(const std::string& id) { return run(allocator->release(id, soon())); }
  std::shared_ptr<const ClaimRecord> held(const std::string& device) const { return ledger->find({kResource, device}); }
  std::vector<Holder> holders(const std::string& device) const {
    return held(device) ? held(device)->parts[0].devices[0].holders : std::vector<Holder>{};
  }
  std::optional<Health> unavailable(const Device& device) const {
    return allocator->unavailable(HeldDevices("gpus", directory.snapshot("gpus"), *ledger), device,
                                  allocator->record_for("gpus", device).get());
  }
  void reboot() {
    allocator.reset();
    ClaimWorld::reboot();
    serve({});
  }
  // Lets so much time pass that the next Allocate is for another pod.
  void let_the_pod_run() { clock.advance(std::chrono::seconds(2)); }

  static constexpr const char* kGpu0 = "cardcage.example.com_gpu/device=gpu-0";
  int changes = 0;
  std::unique_ptr<ResourceAllocator> allocator;
};

}  // namespace cardcage
