#include "host/cdi/metadata.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include "host/model/device_json.h"

namespace cardcage {
namespace {

namespace json = boost::json;

json::object device_json(const DescribedDevice& device) {
  json::object object{{"driver", device.driver}, {"pool", device.pool}, {"name", device.name}};
  if (!device.attributes.empty()) {
    json::object& attributes = object["attributes"].emplace_object();
    for (const auto& [name, value] : device.attributes) attributes[name] = attribute_json(value);
  }
  if (device.network) object["networkData"] = network_json(*device.network);
  return object;
}

}  // namespace

std::string metadata_container_path(const std::string& driver, const std::string& claim_name,
                                    const std::string& pod_claim_name, const std::string& request) {
  const bool from_template = !pod_claim_name.empty();
  return fmt::format("/var/run/kubernetes.io/dra-device-attributes/{}/{}/{}/{}-metadata.json",
                     from_template ? "resourceclaimtemplates" : "resourceclaims",
                     from_template ? pod_claim_name : claim_name, request, driver);
}

std::string metadata_stream(const ClaimRef& claim, const std::string& pod_claim_name, std::int64_t generation,
                            const std::string& request, const std::vector<DescribedDevice>& devices) {
  json::array described;
  for (const DescribedDevice& device : devices) described.push_back(device_json(device));
  std::string stream;
  for (const char* version : {"v1beta1", "v1alpha1"}) {
    json::object object{
        {"kind", "DeviceMetadata"},
        {"apiVersion", fmt::format("metadata.resource.k8s.io/{}", version)},
        {"metadata",
         json::object{
             {"name", claim.name}, {"namespace", claim.name_space}, {"uid", claim.uid}, {"generation", generation}}}};
    if (!pod_claim_name.empty()) object["podClaimName"] = pod_claim_name;
    object["requests"] = json::array{json::object{{"name", request}, {"devices", described}}};
    stream += json::serialize(object) + "\n";
  }
  return stream;
}

}  // namespace cardcage
