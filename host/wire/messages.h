// Converts the host's own types to messages of worker.proto and back. A worker's messages come from a process that runs
// a vendor's code, so numbers are checked here and texts are taken as bytes.
#pragma once

#include "cardcage/worker.pb.h"
#include "host/model/module.h"

namespace cardcage {

namespace wire = ::cardcage::worker::v1;

void write(const ModuleIdentity& from, wire::Identity& to);
ModuleIdentity read(const wire::Identity& from);

void write(const OptionValues& from, google::protobuf::RepeatedPtrField<wire::OptionValue>& to);
OptionValues read(const google::protobuf::RepeatedPtrField<wire::OptionValue>& from);

void write(const std::string& device_id, const Health& from, wire::Health& to);
Health read(const wire::Health& from);

// The list is empty if one of its entries breaks a rule.
void write(const std::vector<CauseDeclaration>& from, google::protobuf::RepeatedPtrField<wire::CauseDeclaration>& to);
std::vector<CauseDeclaration> read(const google::protobuf::RepeatedPtrField<wire::CauseDeclaration>& from);

void write(const Device& from, wire::Device& to);
Result<Device> read(const wire::Device& from);
void write(const Attributes& from, google::protobuf::RepeatedPtrField<wire::AttributeValue>& to);
Result<Attributes> read(const google::protobuf::RepeatedPtrField<wire::AttributeValue>& from);
void write(const std::string& name, const std::map<std::string, Quantity>& from, wire::CounterSet& to);
void write(const std::map<std::string, Quantity>& from, google::protobuf::RepeatedPtrField<wire::NamedQuantity>& to);
std::map<std::string, Quantity> read(const google::protobuf::RepeatedPtrField<wire::NamedQuantity>& from);

void write(const MetricSample& from, wire::Sample& to);
void write(const LeftOut& from, wire::LeftOut& to);
// Adds the samples of the part, within the limits of a collection.
void read(const wire::SamplesPart& from, MetricSamples& to);
void write(const NodeLabels& from, wire::NodeLabels& to);
NodeLabels read(const wire::NodeLabels& from);

void write(const CatalogueEntry& from, wire::CatalogueEntry& to);
// Adds the entries of the part, within the limit of a catalogue.
Status read(const wire::CataloguePart& from, Catalogue& to);

void write(const WatchDeclaration& from, wire::Watch& to);
WatchDeclaration read(const wire::Watch& from);
void write(const EventBatch& from, wire::Events& to);
EventBatch read(const wire::Events& from);

void write(const ModuleClaim& from, wire::Claim& to);
ModuleClaim read(const wire::Claim& from);

void write(const DeviceCondition& from, wire::DeviceCondition& to);
DeviceCondition read(const wire::DeviceCondition& from);
void write(const DeviceStatement& from, wire::DeviceStatement& to);
DeviceStatement read(const wire::DeviceStatement& from);

void write(const PreparedEdits& from, wire::PreparedEdits& to);
PreparedEdits read(const wire::PreparedEdits& from);

void write(const BindProgress& from, wire::BindProgress& to);
BindProgress read(const wire::BindProgress& from);

void write(const std::vector<std::string>& from, google::protobuf::RepeatedPtrField<std::string>& to);
std::vector<std::string> read(const google::protobuf::RepeatedPtrField<std::string>& from);

}  // namespace cardcage
