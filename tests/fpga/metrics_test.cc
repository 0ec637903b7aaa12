// Tests the metrics of cards.
#include "modules/fpga/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fpga/card_files.h"

namespace cardcage::fpga {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

const std::string kCardOnly = ": ";  // without a device

// Records metrics in the order in which the module declares them.
struct Declared {
  std::vector<const void*> addresses;
  std::vector<std::string> names;
  std::vector<std::uint32_t> types;
};
const Declared& declared() {
  static const Declared all = std::apply(
      [](const auto&... metric) { return Declared{{&metric...}, {std::string(metric.name)...}, {metric.type...}}; },
      figures::all);
  return all;
}

class FpgaMetrics : public ::testing::Test {
 protected:
  void look(bool is_ofs, std::vector<std::pair<std::string, std::string>> devices) {
    card.add(is_ofs);
    for (const auto& [id, kind] : devices) targets.push_back(device(id, kind, kClassicCard));
    monitor.look(targets);
  }
  // Returns the values by keys such as "0000:3b:00.5: fpga_power_watts 0000:3b:00.0 dfl_fme_power power1".
  std::map<std::string, double> collect() {
    samples.clear();
    cage_metrics_sink sink{};
    sink.struct_size = sizeof sink;
    sink.host_data = this;
    sink.sample = [](cage_metrics_sink* from, std::uint32_t metric, cage_str id, const cage_str* labels, double value) {
      return static_cast<FpgaMetrics*>(from->host_data)->take(metric, id, labels, value);
    };
    cage::Samples collected(&sink, declared().addresses.data(), declared().addresses.size());
    report_metrics(monitor.cards(), collected);
    return samples;
  }

  const CardFiles files;
  const DflFiles card{.files = files};
  ListeningHost host{files.sysfs()};
  const Tools tools = host.tools();
  bool is_changing = false;
  Monitor monitor{tools,
                  [this](const Target&, const std::function<void()>& action) {
                    if (!is_changing) action();
                    return !is_changing;
                  },
                  std::chrono::seconds(5)};
  Targets targets;
  std::map<std::string, double> samples;

 private:
  cage_status take(std::uint32_t metric, cage_str id, const cage_str* labels, double value) {
    const std::size_t counts[] = {3, 3, 2, 2, 2, 1, 1, 2};
    std::string key = std::string(cage::detail::view(id)) + ": " + declared().names.at(metric);
    for (std::size_t i = 0; i < counts[metric]; ++i) key += " " + std::string(cage::detail::view(labels[i]));
    EXPECT_TRUE(samples.emplace(key, value).second) << key << " twice";
    return CAGE_OK;
  }
};

TEST_F(FpgaMetrics, OnlyNamesOfCountersEndInTotal) {
  EXPECT_THAT(declared().names, Each(StartsWith("fpga_")));
  for (std::size_t i = 0; i < declared().names.size(); ++i)
    EXPECT_EQ(declared().names[i].ends_with("_total"), declared().types[i] == CAGE_METRIC_COUNTER)
        << declared().names[i];
}

TEST_F(FpgaMetrics, FiguresOfACardWithOneDeviceAreOfThatDevice) {
  look(true, {{"0000:3b:00.5", "vf"}});
  EXPECT_THAT(
      collect(),
      IsSupersetOf({Pair("0000:3b:00.5: fpga_temperature_celsius 0000:3b:00.0 dfl_fme_thermal temp1", 42.0),
                    Pair("0000:3b:00.5: fpga_temperature_celsius 0000:3b:00.0 n3000bmc_hwmon Board Temperature", -5.5),
                    Pair("0000:3b:00.5: fpga_power_watts 0000:3b:00.0 dfl_fme_power power1", 33.0),
                    Pair("0000:3b:00.5: fpga_pcie_link_lanes 0000:3b:00.0", 16.0),
                    Pair("0000:3b:00.5: fpga_pcie_link_transfers_per_second 0000:3b:00.0", 8e9),
                    Pair("0000:3b:00.5: fpga_engine_errors 0000:3b:00.0 catfatal", 0.0),
                    Pair("0000:3b:00.5: fpga_port_errors 0000:3b:00.0 0", 0.0)}));
}

TEST_F(FpgaMetrics, FiguresOfACardWithSeveralDevicesAreReportedOnce) {
  look(false, {{kPort0, "port"}, {kPort1, "port"}, {kClassicCard, "card"}});
  files.write(card.port(1) + "/errors/errors", "0x4000000000001\n");
  files.write(card.port(1) + "/power_state", "0x2\n");
  monitor.look(targets);
  EXPECT_THAT(collect(), IsSupersetOf({Pair(kCardOnly + "fpga_power_watts 0000:3b:00.0 dfl_fme_power power1", 33.0),
                                       Pair(kPort0 + ": fpga_port_errors 0000:3b:00.0 0", 0.0),
                                       Pair(kPort1 + ": fpga_port_errors 0000:3b:00.0 1", 2.0),
                                       Pair(kPort0 + ": fpga_port_throttling_ratio 0000:3b:00.0 0", 0.0),
                                       Pair(kPort1 + ": fpga_port_throttling_ratio 0000:3b:00.0 1", 0.9)}));
  EXPECT_THAT(collect(), Not(Contains(Key(StartsWith(std::string(kClassicCard) + ":")))));
}

TEST_F(FpgaMetrics, CountersDoNotFall) {
  card.add();
  files.set_pcie_errors(kClassicCard, 5, 0, 0);
  targets.push_back(device(kPort0, "port", kClassicCard));
  monitor.look(targets);
  const std::string key = kPort0 + ": fpga_pcie_errors_total 0000:3b:00.0 correctable";
  EXPECT_EQ(collect().at(key), 5);
  files.set_pcie_errors(kClassicCard, 8, 0, 0);
  monitor.look(targets);
  EXPECT_EQ(collect().at(key), 8);
  files.set_pcie_errors(kClassicCard, 1, 0, 0);  // the function was removed and found again
  monitor.look(targets);
  EXPECT_EQ(collect().at(key), 9);
}

TEST_F(FpgaMetrics, AScrapeTouchesNoHardware) {
  look(false, {{kPort0, "port"}});
  const auto before = collect();
  EXPECT_THAT(before, Not(IsEmpty()));
  files.remove("devices");
  EXPECT_EQ(collect(), before);
  is_changing = true;
  monitor.look(targets);
  EXPECT_EQ(collect(), before) << "while a card is programmed its last figures stay";
}

TEST_F(FpgaMetrics, WhatCannotBeReadHasNoFigure) {
  card.add();
  files.remove("devices/pci0000:00/0000:3b:00.0/current_link_width");
  files.make_unreadable(card.port(0) + "/errors/errors");
  files.write(card.port(0) + "/power_state", "0x5\n");  // an undefined state
  targets.push_back(device(kPort0, "port", kClassicCard));
  monitor.look(targets);
  EXPECT_THAT(collect(), AllOf(Not(Contains(Key(testing::HasSubstr("link_lanes")))),
                               Not(Contains(Key(testing::HasSubstr("fpga_port_errors 0000:3b:00.0 0")))),
                               Not(Contains(Key(testing::HasSubstr("fpga_port_throttling_ratio 0000:3b:00.0 0"))))));
}

TEST_F(FpgaMetrics, ACardThatIsNotReadHasNoFigures) {
  look(false, {{kPort0, "port"}});
  monitor.forget();
  EXPECT_THAT(collect(), IsEmpty());
  targets.clear();
  monitor.look(targets);
  EXPECT_THAT(collect(), IsEmpty());
}

}  // namespace
}  // namespace cardcage::fpga
