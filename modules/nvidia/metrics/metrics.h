// Reads the figures of all GPUs and MIG instances when they are collected.
#pragma once

#include <cardcage/sdk.hpp>
#include <map>
#include <string>

#include "modules/nvidia/devices.h"
#include "modules/nvidia/driver.h"
#include "modules/nvidia/health/monitor.h"
#include "modules/nvidia/metrics/activity.h"
#include "modules/nvidia/metrics/figure_choice.h"

namespace cardcage::nvidia {

class Metrics {
 public:
  // Both references outlive it.
  Metrics(Driver& driver, const Monitor& monitor, Offer offer, FigureChoice choice);
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // Queries each GPU that responded at the last look and is not released. Leaves out values that a GPU does not have.
  void collect(cage::Samples& samples);

 private:
  class Row;
  // A GPU or a MIG instance whose figures are read.
  struct Source {
    nvml::Device device = nullptr;
    ActivityMeter activity;
    bool is_current = false;  // seen by this collection
  };

  void collect_gpu(const nvml::Library& nvml, const SeenGpu& seen, cage::Samples& samples);
  void collect_instance(const nvml::Library& nvml, const SeenGpu& seen, const MigInstance& instance, nvml::Device gpu,
                        cage::Samples& samples);

  Driver& driver_;
  const Monitor& monitor_;
  const Offer offer_;
  const FigureChoice choice_;
  std::map<std::string, Source> sources_;  // by UUID; the handles belong to the open library
};

}  // namespace cardcage::nvidia
