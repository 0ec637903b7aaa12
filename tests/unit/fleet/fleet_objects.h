// Objects of a cluster as drivers, the scheduler and administrators write them.
#pragma once

#include <fmt/format.h>

#include <boost/json.hpp>
#include <string>
#include <vector>

namespace cardcage {

inline boost::json::object object_of(const std::string& text) { return boost::json::parse(text).as_object(); }

struct SliceText {
  std::string name = "s1", driver = "gpu.example.com", node = "n1", pool = "n1";
  int generation = 1, slices = 1;
  std::vector<std::string> devices = {"gpu-0"};
  std::string model = "G1";
  std::string taints = "[]";  // taints of the first device
};

// A ResourceSlice of resource.k8s.io v1.
inline boost::json::object slice_object(const SliceText& slice) {
  boost::json::array devices;
  for (const std::string& name : slice.devices) {
    boost::json::object device{
        {"name", name},
        {"attributes",
         {{"productName", {{"string", slice.model}}}, {"index", {{"int", 7}}}, {"x.example.com/ok", {{"bool", true}}}}},
        {"capacity", {{"memory", {{"value", "80Gi"}}}}}};
    if (devices.empty()) device["taints"] = boost::json::parse(slice.taints);
    devices.push_back(std::move(device));
  }
  return {{"metadata", {{"name", slice.name}}},
          {"spec",
           {{"driver", slice.driver},
            {"nodeName", slice.node},
            {"pool", {{"name", slice.pool}, {"generation", slice.generation}, {"resourceSliceCount", slice.slices}}},
            {"devices", std::move(devices)}}}};
}

// An allocated claim of the pod "p1".
inline boost::json::object claim_object(const std::string& name, const std::string& pool, const std::string& device,
                                        const std::string& more = "") {
  return object_of(fmt::format(
      R"({{"metadata":{{"namespace":"ns","name":"{}"}},"status":{{"reservedFor":[{{"resource":"pods","name":"p1"}}],
          "allocation":{{"devices":{{"results":[{{"request":"r","driver":"gpu.example.com","pool":"{}","device":"{}"{}
          }}]}}}}}}}})",
      name, pool, device, more));
}

inline boost::json::object rule_object(const std::string& name, const std::string& selector,
                                       const std::string& effect = "NoSchedule") {
  return object_of(fmt::format(
      R"({{"metadata":{{"name":"{}"}},"spec":{{{}"taint":{{"key":"example.com/repair","value":"Repair","effect":"{}"}}
          }}}})",
      name, selector.empty() ? "" : fmt::format(R"("deviceSelector":{},)", selector), effect));
}

// A pod of `cagectl web`, as the kubelet reports it.
inline boost::json::object web_pod_object(const std::string& name, const std::string& node,
                                          const std::string& ready = "True") {
  return object_of(fmt::format(
      R"({{"metadata":{{"namespace":"cardcage","name":"{}","labels":{{"app":"web"}}}},"spec":{{"nodeName":"{}","containers":[
          {{"name":"web","ports":[{{"name":"https","containerPort":8443}}]}}]}},"status":{{"phase":"Running",
          "conditions":[{{"type":"PodScheduled","status":"True"}},{{"type":"Ready","status":"{}"}}]}}}})",
      name, node, ready));
}

}  // namespace cardcage
