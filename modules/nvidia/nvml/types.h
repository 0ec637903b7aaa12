// The binary interface of NVML: types, constants and structs of libnvidia-ml.so.1. They are declared here so that the
// module builds on machines without NVIDIA's headers; the names are those of the NVML API reference.
//
// Sizes are in bytes, memory in bytes unless a name says MiB, clocks in MHz, power in mW, energy in mJ, temperatures in
// degrees Celsius. Structs with `version` are tagged: the caller writes tag<T>() there, and a library that does not
// know the tag returns kArgumentVersionMismatch. tests/nvidia/layout_test.cc holds the sizes and offsets.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cardcage::nvml {

// nvmlReturn_t
enum Return : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kAlreadyInitialized = 5,
  kNotFound = 6,
  kInsufficientSize = 7,
  kInsufficientPower = 8,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kIrqIssue = 11,
  kLibraryNotFound = 12,
  kFunctionNotFound = 13,
  kCorruptedInforom = 14,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kOperatingSystem = 17,
  kLibRmVersionMismatch = 18,
  kInUse = 19,
  kMemory = 20,
  kNoData = 21,
  kVgpuEccNotSupported = 22,
  kInsufficientResources = 23,
  kFreqNotSupported = 24,
  kArgumentVersionMismatch = 25,
  kDeprecated = 26,
  kNotReady = 27,
  kGpuNotFound = 28,
  kInvalidState = 29,
  kResetTypeNotSupported = 30,
  kUnknown = 999,
};

// Opaque handles. All die with nvmlShutdown; handles of instances also die with the instance.
using Device = struct DeviceHandle*;
using GpuInstance = struct GpuInstanceHandle*;
using ComputeInstance = struct ComputeInstanceHandle*;
using EventSet = struct EventSetHandle*;
using GpmSample = struct GpmSampleHandle*;  // a buffer that lives until nvmlGpmSampleFree

inline constexpr std::size_t kUuidSize = 96, kNameSize = 96, kVersionSize = 80, kSerialSize = 30, kPartNumberSize = 80,
                             kVbiosSize = 32, kBusIdSize = 32, kLegacyBusIdSize = 16, kProfileNameSize = 96;

// Flags for nvmlInitWithFlags.
inline constexpr unsigned kInitNoGpus = 1;  // zero GPUs are not an error

enum Architecture : unsigned {
  kKepler = 2,
  kMaxwell = 3,
  kPascal = 4,
  kVolta = 5,
  kTuring = 6,
  kAmpere = 7,
  kAda = 8,
  kHopper = 9,
  kBlackwell = 10,
  kRubin = 13,
};
inline constexpr int kBrandCount = 17;  // nvmlBrandType_t 0 to 16
enum ComputeMode : unsigned { kComputeDefault = 0, kComputeProhibited = 2, kComputeExclusiveProcess = 3 };
enum EnableState : unsigned { kDisabled = 0, kEnabled = 1 };
enum VirtualizationMode : unsigned { kBareMetal = 0, kPassthrough = 1, kVgpuGuest = 2, kVgpuHost = 3, kVsgaHost = 4 };
enum AddressingMode : unsigned { kAddressingNone = 0, kAddressingHmm = 1, kAddressingAts = 2 };
enum TemperatureThreshold : unsigned {
  kShutdownTemperature = 0,
  kSlowdownTemperature = 1,
  kMemoryMaxTemperature = 2,
  kGpuMaxTemperature = 3,
};
enum ClockType : unsigned { kGraphicsClock = 0, kSmClock = 1, kMemoryClock = 2, kVideoClock = 3 };
enum EccErrorType : unsigned { kCorrected = 0, kUncorrected = 1 };
enum EccCounter : unsigned { kVolatile = 0, kAggregate = 1 };
enum RetirementCause : unsigned { kMultipleSingleBit = 0, kDoubleBit = 1 };
enum TopologyLevel : unsigned {
  kSameBoard = 0,
  kSingleSwitch = 10,
  kMultipleSwitches = 20,
  kHostBridge = 30,
  kNumaNode = 40,
  kSystem = 50,
};
enum NvLinkRemote : unsigned { kRemoteGpu = 0, kRemoteNpu = 1, kRemoteSwitch = 2, kRemoteUnknown = 255 };
// nvmlDeviceGetFieldValues, kFieldRecoveryAction. A value that is not listed means at least kActionReset.
enum RecoveryAction : unsigned {
  kActionNone = 0,
  kActionReset = 1,
  kActionReboot = 2,
  kActionDrainP2p = 3,
  kActionDrainAndReset = 4,
  kActionRecoverImexDomain = 5,
  kActionBusReset = 6,
  kActionSystemReboot = 7,
};
enum FabricState : unsigned char {
  kFabricNotSupported = 0,
  kFabricNotStarted = 1,
  kFabricInProgress = 2,
  kFabricCompleted = 3
};

// Bits of nvmlEventData_t.eventType.
inline constexpr unsigned long long kEventSingleBitEcc = 0x1, kEventDoubleBitEcc = 0x2, kEventXid = 0x8,
                                    kEventMigConfigChange = 0x100, kEventSingleBitEccStorm = 0x200,
                                    kEventDramRetirement = 0x400, kEventDramRetirementFailure = 0x800,
                                    kEventNonFatalPoison = 0x1000, kEventFatalPoison = 0x2000,
                                    kEventGpuUnavailable = 0x4000, kEventRecoveryAction = 0x8000;
// Bits of nvmlDeviceGetCurrentClocksEventReasons.
inline constexpr unsigned long long kReasonIdle = 0x1, kReasonAppClocks = 0x2, kReasonSwPowerCap = 0x4,
                                    kReasonHwSlowdown = 0x8, kReasonSyncBoost = 0x10, kReasonSwThermal = 0x20,
                                    kReasonHwThermal = 0x40, kReasonHwPowerBrake = 0x80, kReasonDisplayClocks = 0x100;

// Ids of fields; the scope is 0 unless stated.
inline constexpr unsigned kFieldEccSbeVolatile = 3, kFieldEccDbeVolatile = 4, kFieldEccSbeAggregate = 5,
                          kFieldEccDbeAggregate = 6, kFieldRetiredSbe = 29, kFieldRetiredDbe = 30,
                          kFieldRetiredPending = 31, kFieldPowerViolation = 74, kFieldThermalViolation = 75,
                          kFieldSyncBoostViolation = 76, kFieldBoardLimitViolation = 77, kFieldLowUtilViolation = 78,
                          kFieldReliabilityViolation = 79, kFieldMemoryTemperature = 82, kFieldEnergy = 83,
                          kFieldNvLinkCount = 91, kFieldPcieReplay = 94, kFieldNvLinkDataTx = 138,
                          kFieldNvLinkDataRx = 139, kFieldRemappedCorrectable = 142, kFieldRemappedUncorrectable = 143,
                          kFieldRemapPending = 144, kFieldRemapFailure = 145, kFieldResetlessMig = 184,
                          kFieldPowerAverage = 185, kFieldPowerInstant = 186, kFieldShutdownTlimit = 193,
                          kFieldSlowdownTlimit = 194, kFieldMemoryTlimit = 195, kFieldGpuMaxTlimit = 196,
                          kFieldPcieTxBytes = 197, kFieldPcieRxBytes = 198, kFieldRecoveryAction = 230;
inline constexpr unsigned kAllLinks = 0xffffffff;  // the scope of a field that sums over links

inline constexpr unsigned kNoInstance = 0xffffffff;  // a GPU or compute instance id: none
inline constexpr unsigned kGpuInstanceProfiles = 0x12, kComputeInstanceProfiles = 9, kSharedEngines = 0;
// Bits of GpuInstanceProfileInfo3.capabilities.
inline constexpr unsigned kProfileP2p = 1, kProfileGraphics = 2;

struct PciInfo {
  char busIdLegacy[kLegacyBusIdSize];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;  // pciDeviceId: device << 16 | vendor
  char busId[kBusIdSize];                                     // 00000000:3B:00.0
};
struct Memory {
  unsigned long long total, free, used;
};
struct Memory2 {
  static constexpr unsigned kRevision = 2;
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct Bar1Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;  // percent
};
struct ProcessInfo1 {
  unsigned pid;
  unsigned long long usedGpuMemory;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId, computeInstanceId;
};
// The record that the _v3 functions of drivers 535.43.02 to 535.86.10 write instead.
struct LongProcessInfo {
  ProcessInfo process;
  unsigned long long usedGpuCcProtectedMemory;
};
struct DeviceAttributes {
  unsigned multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount, sharedJpegCount,
      sharedOfaCount, gpuInstanceSliceCount, computeInstanceSliceCount;
  unsigned long long memorySizeMB;  // MiB
};
struct EventData {
  Device device;
  unsigned long long eventType, eventData;
  unsigned gpuInstanceId, computeInstanceId;
};
struct FieldValue {
  unsigned fieldId, scopeId;
  long long timestamp, latencyUsec;  // microseconds
  unsigned valueType;
  Return nvmlReturn;
  union {
    double d;
    unsigned u;
    unsigned long ul;
    unsigned long long ull;
    long long sll;
    int s;
    unsigned short us;
  } value;
};
enum ValueType : unsigned {
  kDouble = 0,
  kUnsigned = 1,
  kUnsignedLong = 2,
  kUnsignedLongLong = 3,
  kLongLong = 4,
  kInt = 5,
  kUnsignedShort = 6
};

struct Placement {
  unsigned start, size;  // memory slices of a GPU instance, compute slices of a compute instance
};
struct GpuInstanceProfileInfo {
  unsigned id, isP2pSupported, sliceCount, instanceCount, multiprocessorCount, copyEngineCount, decoderCount,
      encoderCount, jpegCount, ofaCount;
  unsigned long long memorySizeMB;
};
struct GpuInstanceProfileInfo2 {
  static constexpr unsigned kRevision = 2;
  unsigned version, id, isP2pSupported, sliceCount, instanceCount, multiprocessorCount, copyEngineCount, decoderCount,
      encoderCount, jpegCount, ofaCount;
  unsigned long long memorySizeMB;
  char name[kProfileNameSize];  // "MIG 1g.10gb"
};
struct GpuInstanceProfileInfo3 {
  static constexpr unsigned kRevision = 3;
  unsigned version, id, sliceCount, instanceCount, multiprocessorCount, copyEngineCount, decoderCount, encoderCount,
      jpegCount, ofaCount;
  unsigned long long memorySizeMB;
  char name[kProfileNameSize];
  unsigned capabilities;
};
struct GpuInstanceInfo {
  Device device;
  unsigned id, profileId;
  Placement placement;
};
struct ComputeInstanceProfileInfo {
  unsigned id, sliceCount, instanceCount, multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount,
      sharedEncoderCount, sharedJpegCount, sharedOfaCount;
};
struct ComputeInstanceProfileInfo2 {
  static constexpr unsigned kRevision = 2;
  unsigned version, id, sliceCount, instanceCount, multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount,
      sharedEncoderCount, sharedJpegCount, sharedOfaCount;
  char name[kProfileNameSize];
};
struct ComputeInstanceInfo {
  Device device;  // the MIG device
  GpuInstance gpuInstance;
  unsigned id, profileId;
  Placement placement;
};
struct GpuFabricInfo {
  unsigned char clusterUuid[16];
  Return status;
  unsigned cliqueId;
  unsigned char state;
};
struct GpuFabricInfo2 {
  static constexpr unsigned kRevision = 2;
  unsigned version;
  unsigned char clusterUuid[16];
  Return status;
  unsigned cliqueId;
  unsigned char state;
  unsigned healthMask;
};
struct GpuFabricInfo3 {
  static constexpr unsigned kRevision = 3;
  unsigned version;
  unsigned char clusterUuid[16];
  Return status;
  unsigned cliqueId;
  unsigned char state;
  unsigned healthMask;
  unsigned char healthSummary;
};
struct RemappedRows2 {
  unsigned correctableActive, correctableInactive, uncorrectableActive, uncorrectableInactive, pending, failure;
};
struct RowRemapperHistogram {
  unsigned max, high, partial, low, none;
};
struct EccSramErrorStatus {
  static constexpr unsigned kRevision = 1;
  unsigned version;
  unsigned long long aggregateUncParity, aggregateUncSecDed, aggregateCor, volatileUncParity, volatileUncSecDed,
      volatileCor, aggregateUncBucketL2, aggregateUncBucketSm, aggregateUncBucketPcie, aggregateUncBucketMcu,
      aggregateUncBucketOther;
  unsigned thresholdExceeded;
};
struct Temperature {
  static constexpr unsigned kRevision = 1;
  unsigned version, sensorType;
  int temperature;
};
struct MarginTemperature {
  static constexpr unsigned kRevision = 1;
  unsigned version;
  int marginTemperature;  // degrees that are left before the GPU slows down
};
struct DeviceAddressingMode {
  static constexpr unsigned kRevision = 1;
  unsigned version, value;
};
struct C2cModeInfo {
  unsigned isC2cEnabled;
};
struct PlatformInfo2 {
  static constexpr unsigned kRevision = 2;
  unsigned version;
  unsigned char ibGuid[16], chassisSerialNumber[16], slotNumber, trayIndex, hostId, peerType, moduleId;
};
struct ExcludedDeviceInfo {
  PciInfo pciInfo;
  char uuid[80];
};

// GPM, the counters of a GPU's activity: since driver 520, on Hopper and later. Percent and MiB per second. The
// versions are plain numbers, not tags.
inline constexpr unsigned kGpmVersion = 1;
enum GpmMetricId : unsigned {
  kGpmGraphicsUtil = 1,
  kGpmTensorUtil = 5,
  kGpmDramUtil = 10,
  kGpmPcieTx = 20,
  kGpmPcieRx = 21,
};
struct GpmSupport {
  unsigned version, isSupportedDevice;
};
struct GpmMetric {
  unsigned metricId;
  Return nvmlReturn;
  double value;
  struct {
    const char *shortName, *longName, *unit;
  } metricInfo;
};
struct GpmMetricsGet {
  unsigned version, numMetrics;
  GpmSample sample1, sample2;
  GpmMetric metrics[333];  // as many as the longest header has; the driver uses numMetrics of them
};

// The required value of `version`.
template <class T>
constexpr unsigned tag() {
  return static_cast<unsigned>(sizeof(T)) | T::kRevision << 24;
}

}  // namespace cardcage::nvml
