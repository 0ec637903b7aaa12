#include "tests/bench/nvidia_figures.h"

#include <fmt/format.h>
#include <unistd.h>

#include "sim/nvml/fake_gpus.h"
#include "sim/scratch_folder.h"
#include "tests/bench/loaded_module.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/proc.h"

namespace cardcage::bench {
namespace {

constexpr int kGpus = 16;
constexpr int kTicksPerLook = 10;

NodeRoots gpu_roots(const FakeGpus& gpus) {
  return {.sysfs = gpus.sysfs(), .procfs = gpus.procfs(), .devfs = gpus.devfs(), .driver = gpus.driver_root()};
}

// Makes seven instances on each GPU.
void partition(FakeGpus& gpus) {
  constexpr unsigned kSmallest = 19, kInstances = 7;
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    gpus.set_mig_mode(gpu, true);
    for (unsigned start = 0; start < kInstances; ++start) gpus.create_instance(gpu, kSmallest, start);
  }
}

void prepare_and_release(LoadedModule& loaded, const std::string& device, Figures* figures) {
  const ModuleClaim claim = LoadedModule::claim("uid", device);
  const auto prepare = [&] { LoadedModule::must(loaded.run(loaded.module->call(PrepareCall{claim}, loaded.soon()))); };
  if (figures != nullptr)
    figures->time(prepare);
  else
    prepare();
  LoadedModule::must(loaded.run(loaded.module->call(UnprepareCall{claim}, loaded.soon())));
}

// Collects all samples of all GPUs and instances, as they arrive in the daemon.
Figures collections(LoadedModule& loaded, int rounds) {
  constexpr std::size_t kLeast = kGpus * (20 + 7 * 6);
  Figures figures;
  std::size_t samples = 0;
  const auto collect = [&] {
    samples = LoadedModule::must(loaded.run(loaded.module->call(CollectMetricsCall{}, loaded.soon())))->samples.size();
  };
  collect();  // the activity of a GPU is measured from the first collection on
  for (int i = 0; i < rounds; ++i) figures.time(collect);
  if (samples < kLeast) throw std::runtime_error(fmt::format("a collection has {} samples", samples));
  return figures;
}

// The cost of a tick of the module that looks at every GPU.
Figures looks_at_health(LoadedModule& loaded, int looks) {
  Figures figures;
  for (int tick = 0; tick < looks * kTicksPerLook; ++tick) {
    while (loaded.ready.empty()) loaded.core.run_one();  // the timer of the module expires every millisecond
    const EventBatch due{
        .events = {{.type = EventType::kDescriptor, .time = {}, .text = {}, .descriptor = loaded.ready.front()}}};
    loaded.ready.clear();
    const auto deliver = [&] { LoadedModule::must(loaded.run(loaded.module->call(EventsCall{due}, loaded.soon()))); };
    if (tick >= kTicksPerLook && tick % kTicksPerLook == 0)  // the first look opens all GPUs
      figures.time(deliver);
    else
      deliver();
  }
  return figures;
}

}  // namespace

void measure_nvidia(Table& table, bool quick) {
  const int rounds = quick ? 20 : 200;
  const ScratchFolder folder;
  FakeGpus gpus(folder / "node", {.product = "h100", .gpus = kGpus});
  Figures discover, nvidia_prepare, mock_prepare;
  {
    LoadedModule nvidia("nvidia", Isolation::kProcess, built_module("nvidia"), gpu_roots(gpus));
    LoadedModule mock("mock", Isolation::kProcess, built_module("mock"));
    mock.config.options["devices"].value = std::vector<std::string>{"gpu:16"};
    nvidia.start();
    mock.start();
    for (int i = 0; i < rounds; ++i) {
      prepare_and_release(nvidia, gpus.uuid(0), &nvidia_prepare);
      prepare_and_release(mock, "gpu-0", &mock_prepare);
    }
  }
  partition(gpus);
  LoadedModule nvidia("nvidia", Isolation::kProcess, built_module("nvidia"), gpu_roots(gpus));
  nvidia.config.options["health_interval"].value = "1ms";
  nvidia.start();
  for (int i = 0; i < rounds; ++i)
    discover.time([&] { LoadedModule::must(nvidia.run(nvidia.module->call(DiscoverCall{}, nvidia.soon()))); });
  const Figures collect = collections(nvidia, rounds);
  const auto read_before = gpus.calls("nvmlDeviceGetFieldValues");
  const int looked = quick ? 3 : 20;
  const Figures looks = looks_at_health(nvidia, looked);
  const auto read = gpus.calls("nvmlDeviceGetFieldValues") - read_before;
  if (read < static_cast<unsigned>(kGpus * looked))
    throw std::runtime_error(fmt::format("the module has looked {} times", read));
  const auto workers = proc::workers(::getpid());
  table.figure("discover of 16 GPUs with 7 MIG instances each", discover);
  table.figure("prepare of a whole GPU", nvidia_prepare);
  table.budget("discover of 16 GPUs with 7 MIG instances each, p50", discover.p50_us() / 1000, 20, "ms");
  table.budget("prepare of a whole GPU over the mock's, p50", (nvidia_prepare.p50_us() - mock_prepare.p50_us()) / 1000,
               0.3, "ms");
  table.budget("metrics of 16 GPUs with 7 MIG instances each, p50", collect.p50_us() / 1000, 10, "ms");
  table.budget("look at the health of 16 GPUs, p50", looks.p50_us() / 1000, 5, "ms");
  table.budget("worker of the NVIDIA module, PSS", static_cast<double>(proc::pss_kib(workers.at(0))) / 1024, 8, "MB");
}

}  // namespace cardcage::bench
