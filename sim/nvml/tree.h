// The files of the tree: those of the driver's packages and those of the kernel.
#pragma once

#include <filesystem>
#include <string>

#include "sim/nvml/product.h"

namespace cardcage::fake_nvml {

// Writes a plain file, and the folders above it.
void write_file(const std::filesystem::path& file, const std::string& text);

// Fills <root>/driver: files with the version in their name, and links to them.
void install_driver(const std::filesystem::path& root, const std::string& version);
void uninstall_driver(const std::filesystem::path& root);

// Writes /sys/bus/pci and /dev as they are without the nvidia module.
void write_gpu(const std::filesystem::path& root, const Gpu& gpu, const Product& product);
// These show that the GPU is lost, has left the bus, or is back.
void fill_config_space(const std::filesystem::path& root, const Gpu& gpu);
void hide_gpu(const std::filesystem::path& root, const Gpu& gpu);
void show_gpu(const std::filesystem::path& root, const Gpu& gpu);

// Binds the GPU to this driver, or to none.
void bind_gpu(const std::filesystem::path& root, const State& state, const Gpu& gpu, const std::string& driver);

// Writes /proc/driver, /proc/devices, /sys/module/nvidia, the links of drivers and the nodes in /dev. Needs the State's
// lock.
void load_module(const std::filesystem::path& root, const State& state);
void unload_module(const std::filesystem::path& root, const State& state);

}  // namespace cardcage::fake_nvml
