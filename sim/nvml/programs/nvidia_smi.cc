// A small nvidia-smi. It calls the libnvidia-ml.so.1 in ../lib64, and changes the State itself where NVML has no
// function. In a container it sees the GPUs and MIG instances whose device nodes it may open, as the real one does.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/nvml/programs/smi_query.h"
#include "sim/nvml/world.h"

using namespace cardcage::fake_nvml;
namespace nvml = cardcage::nvml;
namespace fs = std::filesystem;

namespace {

constexpr int kBadUsage = 2, kFailed = 255;
constexpr unsigned kLongestTimeslice = 3;
constexpr std::string_view kQuery = "--query-gpu=";

struct Failure {
  int code;
  std::string text;
};

struct Options {
  std::vector<std::string> words;
  // The word after the option, or null.
  const std::string* value(const char* option) const {
    const auto found = std::ranges::find(words, option);
    return found == words.end() || found + 1 == words.end() ? nullptr : &*(found + 1);
  }
  bool has(const char* option) const { return std::ranges::find(words, option) != words.end(); }
};

class Library {
 public:
  explicit Library(const fs::path& folder)
      : root_(folder.parent_path().parent_path()), opened_(::dlopen((folder / "libnvidia-ml.so.1").c_str(), RTLD_NOW)) {
    if (opened_ == nullptr) throw Failure{kFailed, "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system."};
#define CARDCAGE_NVML_LOAD(name, parameters) \
  functions.name = reinterpret_cast<nvml::Return(*) parameters>(::dlsym(opened_, #name));
    CARDCAGE_NVML_REQUIRED(CARDCAGE_NVML_LOAD)
    CARDCAGE_NVML_OPTIONAL(CARDCAGE_NVML_LOAD)
#undef CARDCAGE_NVML_LOAD
    functions.nvmlErrorString = reinterpret_cast<const char* (*)(nvml::Return)>(::dlsym(opened_, "nvmlErrorString"));
    if (const nvml::Return code = functions.nvmlInitWithFlags(nvml::kInitNoGpus); code != nvml::kSuccess)
      throw Failure{code, std::string("Failed to initialize NVML: ") + functions.nvmlErrorString(code)};
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() { functions.nvmlShutdown(); }

  void require(nvml::Return code, const std::string& what) const {
    if (code != nvml::kSuccess) throw Failure{code, what + ": " + functions.nvmlErrorString(code)};
  }
  std::vector<nvml::Device> devices() const {
    unsigned count = 0;
    require(functions.nvmlDeviceGetCount_v2(&count), "Unable to determine the device count");
    std::vector<nvml::Device> made;
    for (unsigned i = 0; i < count; ++i) {
      nvml::Device device = nullptr;
      const nvml::Return code = functions.nvmlDeviceGetHandleByIndex_v2(i, &device);
      require(code, "Unable to determine the device handle for GPU " + std::to_string(i));
      if (is_visible(device)) made.push_back(device);
    }
    return made;
  }

  bool is_visible_instance(nvml::Device gpu, nvml::Device mig) const {
    unsigned gi = 0;
    require(functions.nvmlDeviceGetGpuInstanceId(mig, &gi), "Unable to read the GPU instance");
    return may_open("nvidia-caps/nvidia-cap" + std::to_string(capability_minor(minor_of(gpu), gi)));
  }

  nvml::Functions functions;

 private:
  unsigned minor_of(nvml::Device device) const {
    unsigned minor = 0;
    require(functions.nvmlDeviceGetMinorNumber(device, &minor), "Unable to read the minor number");
    return minor;
  }
  bool is_visible(nvml::Device device) const { return may_open("nvidia" + std::to_string(minor_of(device))); }
  // Device nodes are below the driver's root only in a container. The fake nodes cannot be opened there either, but
  // fail with another error than missing or forbidden ones.
  bool may_open(const std::string& node) const {
    if (!fs::exists(root_ / "dev/nvidiactl")) return true;
    const int fd = ::open((root_ / "dev" / node).c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) return errno == ENXIO || errno == ENODEV;
    ::close(fd);
    return true;
  }

  const fs::path root_;
  void* opened_;
};

std::string uuid_of(const Library& library, nvml::Device device) {
  char uuid[nvml::kUuidSize] = {};
  library.require(library.functions.nvmlDeviceGetUUID(device, uuid, sizeof uuid), "Unable to read the UUID");
  return uuid;
}

std::string bus_of(const Library& library, nvml::Device device) {
  nvml::PciInfo pci{};
  library.require(library.functions.nvmlDeviceGetPciInfo_v3(device, &pci), "Unable to read the PCI address");
  return pci.busId;
}

std::string name_of(const Library& library, nvml::Device device) {
  char name[nvml::kNameSize] = {};
  library.require(library.functions.nvmlDeviceGetName(device, name, sizeof name), "Unable to read the name");
  return name;
}

// -i takes a UUID, a PCI address or an index.
nvml::Device chosen(const Library& library, const Options& options) {
  const std::string* wanted = options.value("-i");
  if (wanted == nullptr) throw Failure{kBadUsage, "Option \"-i\" is missing."};
  const std::vector<nvml::Device> devices = library.devices();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (*wanted == std::to_string(i) || *wanted == uuid_of(library, devices[i])) return devices[i];
  }
  nvml::Device device = nullptr;
  if (library.functions.nvmlDeviceGetHandleByPciBusId_v2(wanted->c_str(), &device) == nvml::kSuccess) return device;
  throw Failure{nvml::kNotFound, "No devices were found"};
}

unsigned number(const std::string& text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) throw Failure{kBadUsage, "Invalid value: " + text};
  return value;
}

void list(const Library& library) {
  const auto devices = library.devices();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    std::printf("GPU %zu: %s (UUID: %s)\n", i, name_of(library, devices[i]).c_str(),
                uuid_of(library, devices[i]).c_str());
    unsigned count = 0;
    library.functions.nvmlDeviceGetMaxMigDeviceCount(devices[i], &count);
    for (unsigned j = 0; j < count; ++j) {
      nvml::Device mig = nullptr;
      if (library.functions.nvmlDeviceGetMigDeviceHandleByIndex(devices[i], j, &mig) != nvml::kSuccess) continue;
      if (!library.is_visible_instance(devices[i], mig)) continue;
      const std::string name = name_of(library, mig), profile = name.substr(name.find("MIG "));
      std::printf("  %-15s Device %2u: (UUID: %s)\n", profile.c_str(), j, uuid_of(library, mig).c_str());
    }
  }
}

void show_table(const Library& library) {
  char version[nvml::kVersionSize] = {};
  library.functions.nvmlSystemGetDriverVersion(version, sizeof version);
  std::printf("| NVIDIA-SMI %s    Driver Version: %s |\n", version, version);
  const auto devices = library.devices();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    nvml::Memory memory{};
    library.functions.nvmlDeviceGetMemoryInfo(devices[i], &memory);
    std::printf("| %zu  %s  %s  %llu MiB / %llu MiB |\n", i, name_of(library, devices[i]).c_str(),
                bus_of(library, devices[i]).c_str(), memory.used >> 20, memory.total >> 20);
  }
}

void show_all(const Library& library, State& state) {
  library.devices();  // fails if one does not respond
  int cuda = 0;
  library.require(library.functions.nvmlSystemGetCudaDriverVersion_v2(&cuda), "Unable to read the CUDA version");
  const StateLock lock(state);
  print_xml(state, std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10));
}

void show_columns(State& state, const std::string& columns) {
  const StateLock lock(state);
  const std::string unknown = print_columns(state, columns);
  if (!unknown.empty()) throw Failure{kBadUsage, "Field \"" + unknown + "\" is not a valid field to query."};
}

void set_compute_mode(const Library& library, const Options& options) {
  const std::string& text = *options.value("-c");
  static constexpr const char* kNames[] = {"DEFAULT", "EXCLUSIVE_THREAD", "PROHIBITED", "EXCLUSIVE_PROCESS"};
  const auto* const found = std::ranges::find(kNames, text);
  const unsigned mode = found != std::end(kNames) ? static_cast<unsigned>(found - kNames) : number(text);
  const nvml::Device device = chosen(library, options);
  library.require(library.functions.nvmlDeviceSetComputeMode(device, mode), "Unable to set the compute mode");
  std::printf("Set compute mode to %s for GPU %s.\nAll done.\n", kNames[mode], bus_of(library, device).c_str());
}

void set_persistence(const Library& library, const Options& options) {
  const unsigned mode = number(*options.value("-pm"));
  const auto devices = options.has("-i") ? std::vector<nvml::Device>{chosen(library, options)} : library.devices();
  for (const nvml::Device device : devices) {
    library.require(library.functions.nvmlDeviceSetPersistenceMode(device, mode), "Unable to set persistence mode");
    std::printf("%s persistence mode for GPU %s.\n", mode == 1 ? "Enabled" : "Disabled",
                bus_of(library, device).c_str());
  }
  std::printf("All done.\n");
}

void list_instances(const Library& library) {
  std::printf("| GPU  Name  Profile ID  Instance ID  Placement Start:Size |\n");
  const auto devices = library.devices();
  bool any = false;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (unsigned id = 0; id < kMaxInstances; ++id) {
      nvml::GpuInstance instance = nullptr;
      nvml::GpuInstanceInfo info{};
      if (library.functions.nvmlDeviceGetGpuInstanceById(devices[i], id, &instance) != nvml::kSuccess) continue;
      library.require(library.functions.nvmlGpuInstanceGetInfo(instance, &info), "Unable to read a GPU instance");
      std::printf("| %zu  %u  %u  %u:%u |\n", i, info.profileId, info.id, info.placement.start, info.placement.size);
      any = true;
    }
  }
  if (!any) std::printf("No MIG-enabled devices found.\n");
}

Gpu& gpu_with(State& state, const std::string& uuid) {
  Gpu* found = std::ranges::find_if(state.gpus, [&](const Gpu& gpu) { return gpu.uuid == uuid; });
  if (found == std::end(state.gpus)) throw Failure{nvml::kNotFound, "No devices were found"};
  return *found;
}

std::string uuid_chosen(const fs::path& folder, const Options& options, std::string& bus) {
  const Library library(folder);
  const nvml::Device device = chosen(library, options);
  bus = bus_of(library, device);
  return uuid_of(library, device);
}

void set_timeslice(State& state, const fs::path& folder, const Options& options) {
  const std::string* text = options.value("--set-timeslice");
  if (text == nullptr) throw Failure{kBadUsage, "Option \"--set-timeslice\" is missing."};
  const unsigned timeslice = number(*text);
  if (timeslice > kLongestTimeslice) throw Failure{kBadUsage, "Invalid time slice: " + *text};
  std::string bus;
  const std::string uuid = uuid_chosen(folder, options, bus);
  const StateLock lock(state);
  gpu_with(state, uuid).timeslice = timeslice;
  std::printf("Successfully set timeslice for GPU %s to %u.\n", bus.c_str(), timeslice);
}

// Resets the GPU. No process may hold it, so this one has shut the library down before.
void reset_one(State& state, const fs::path& folder, const Options& options) {
  std::string bus;
  const std::string uuid = uuid_chosen(folder, options, bus);
  const StateLock lock(state);
  sweep_clients(state, folder);
  Gpu& gpu = gpu_with(state, uuid);
  const unsigned bit = 1u << index_of(state, gpu);
  const bool held = std::ranges::any_of(
      state.clients, [bit](const Client& client) { return client.used && (client.attached & bit) != 0; });
  if (held || gpu.process_count > 0) {
    throw Failure{kFailed, "The following GPUs could not be reset:\n  GPU " + bus +
                               ": In use by another client\n\n1 device is currently being used by one or more other "
                               "processes (e.g., Fabric Manager, CUDA application, graphics application such as an X "
                               "server, or a monitoring application such as another instance of nvidia-smi). Please "
                               "first kill all processes using this device and all compute applications running in "
                               "the system."};
  }
  reset_gpu(state, gpu, (folder / "../../..").lexically_normal());
  std::printf("GPU %s was successfully reset.\n", bus.c_str());
}

// -i takes a list.
void reset(State& state, const fs::path& folder, const Options& options) {
  std::istringstream chosen(options.value("-i") == nullptr ? "" : *options.value("-i"));
  for (std::string one; std::getline(chosen, one, ',');) {
    Options narrowed = options;
    *(std::ranges::find(narrowed.words, "-i") + 1) = one;
    reset_one(state, folder, narrowed);
  }
  std::puts("All done.");
}

void write_log(const fs::path& folder, const Options& options) {
  std::string line;
  if (const char* const preloaded = std::getenv("LD_PRELOAD")) line = std::string("LD_PRELOAD=") + preloaded;
  for (const std::string& word : options.words) line += (line.empty() ? "" : " ") + word;
  line += '\n';
  const int fd = ::open((folder / kSmiLog).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return;
  if (::write(fd, line.data(), line.size()) < 0) std::perror("nvidia-smi.log");
  ::close(fd);
}

void run(const Options& options) {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib64";
  write_log(folder, options);
  State* state = map_state(folder);
  if (state == nullptr) throw Failure{nvml::kDriverNotLoaded, "Failed to initialize NVML: Driver Not Loaded"};
  if (options.has("compute-policy")) return set_timeslice(*state, folder, options);
  if (options.has("--gpu-reset") || options.has("-r")) return reset(*state, folder, options);
  const Library library(folder);
  if (options.words.empty()) return show_table(library);
  if (options.has("-L")) return list(library);
  if (options.has("-q") && options.has("-x")) return show_all(library, *state);
  if (options.words.front().starts_with(kQuery))
    return show_columns(*state, options.words.front().substr(kQuery.size()));
  if (options.value("-c") != nullptr) return set_compute_mode(library, options);
  if (options.value("-pm") != nullptr) return set_persistence(library, options);
  if (options.has("mig") && options.has("-lgi")) return list_instances(library);
  throw Failure{kBadUsage, "Invalid combination of input arguments."};
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run({std::vector<std::string>(argv + 1, argv + argc)});
    return 0;
  } catch (const Failure& failure) {
    std::printf("%s\n", failure.text.c_str());
    return failure.code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nvidia-smi: %s\n", error.what());
    return kFailed;
  }
}
