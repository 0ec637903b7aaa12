// Numbers of the NVML API reference, written as literals: a constant in types.h that differs from the driver's does not
// compile here.
#include <gtest/gtest.h>

#include "modules/nvidia/nvml/types.h"

namespace cardcage::nvml {
namespace {

TEST(NvmlConstantsTest, ReturnCodes) {
  static_assert(sizeof(Return) == 4);
  static_assert(kSuccess == 0);
  static_assert(kUninitialized == 1);
  static_assert(kInvalidArgument == 2);
  static_assert(kNotSupported == 3);
  static_assert(kNoPermission == 4);
  static_assert(kAlreadyInitialized == 5);
  static_assert(kNotFound == 6);
  static_assert(kInsufficientSize == 7);
  static_assert(kInsufficientPower == 8);
  static_assert(kDriverNotLoaded == 9);
  static_assert(kTimeout == 10);
  static_assert(kIrqIssue == 11);
  static_assert(kLibraryNotFound == 12);
  static_assert(kFunctionNotFound == 13);
  static_assert(kCorruptedInforom == 14);
  static_assert(kGpuIsLost == 15);
  static_assert(kResetRequired == 16);
  static_assert(kOperatingSystem == 17);
  static_assert(kLibRmVersionMismatch == 18);
  static_assert(kInUse == 19);
  static_assert(kMemory == 20);
  static_assert(kNoData == 21);
  static_assert(kVgpuEccNotSupported == 22);
  static_assert(kInsufficientResources == 23);
  static_assert(kFreqNotSupported == 24);
  static_assert(kArgumentVersionMismatch == 25);
  static_assert(kDeprecated == 26);
  static_assert(kNotReady == 27);
  static_assert(kGpuNotFound == 28);
  static_assert(kInvalidState == 29);
  static_assert(kResetTypeNotSupported == 30);
  static_assert(kUnknown == 999);
}

TEST(NvmlConstantsTest, BufferSizesAndFlags) {
  static_assert(kUuidSize == 96);
  static_assert(kNameSize == 96);
  static_assert(kVersionSize == 80);
  static_assert(kSerialSize == 30);
  static_assert(kPartNumberSize == 80);
  static_assert(kVbiosSize == 32);
  static_assert(kBusIdSize == 32);
  static_assert(kLegacyBusIdSize == 16);
  static_assert(kProfileNameSize == 96);
  static_assert(kInitNoGpus == 1);
}

TEST(NvmlConstantsTest, IdentityAndModes) {
  static_assert(kKepler == 2);
  static_assert(kMaxwell == 3);
  static_assert(kPascal == 4);
  static_assert(kVolta == 5);
  static_assert(kTuring == 6);
  static_assert(kAmpere == 7);
  static_assert(kAda == 8);
  static_assert(kHopper == 9);
  static_assert(kBlackwell == 10);
  static_assert(kRubin == 13);
  static_assert(kBrandCount == 17);
  static_assert(kComputeDefault == 0);
  static_assert(kComputeProhibited == 2);
  static_assert(kComputeExclusiveProcess == 3);
  static_assert(kDisabled == 0);
  static_assert(kEnabled == 1);
  static_assert(kBareMetal == 0);
  static_assert(kPassthrough == 1);
  static_assert(kVgpuGuest == 2);
  static_assert(kVgpuHost == 3);
  static_assert(kVsgaHost == 4);
  static_assert(kAddressingNone == 0);
  static_assert(kAddressingHmm == 1);
  static_assert(kAddressingAts == 2);
}

TEST(NvmlConstantsTest, ClocksEccAndTopology) {
  static_assert(kGraphicsClock == 0);
  static_assert(kSmClock == 1);
  static_assert(kMemoryClock == 2);
  static_assert(kVideoClock == 3);
  static_assert(kCorrected == 0);
  static_assert(kUncorrected == 1);
  static_assert(kVolatile == 0);
  static_assert(kAggregate == 1);
  static_assert(kMultipleSingleBit == 0);
  static_assert(kDoubleBit == 1);
  static_assert(kSameBoard == 0);
  static_assert(kSingleSwitch == 10);
  static_assert(kMultipleSwitches == 20);
  static_assert(kHostBridge == 30);
  static_assert(kNumaNode == 40);
  static_assert(kSystem == 50);
  static_assert(kRemoteGpu == 0);
  static_assert(kRemoteNpu == 1);
  static_assert(kRemoteSwitch == 2);
  static_assert(kRemoteUnknown == 255);
  static_assert(sizeof(FabricState) == 1);
  static_assert(kFabricNotSupported == 0);
  static_assert(kFabricNotStarted == 1);
  static_assert(kFabricInProgress == 2);
  static_assert(kFabricCompleted == 3);
}

TEST(NvmlConstantsTest, RecoveryActionsAndEvents) {
  static_assert(kActionNone == 0);
  static_assert(kActionReset == 1);
  static_assert(kActionReboot == 2);
  static_assert(kActionDrainP2p == 3);
  static_assert(kActionDrainAndReset == 4);
  static_assert(kActionRecoverImexDomain == 5);
  static_assert(kActionBusReset == 6);
  static_assert(kActionSystemReboot == 7);
  static_assert(kEventSingleBitEcc == 0x1);
  static_assert(kEventDoubleBitEcc == 0x2);
  static_assert(kEventXid == 0x8);
  static_assert(kEventMigConfigChange == 0x100);
  static_assert(kEventSingleBitEccStorm == 0x200);
  static_assert(kEventDramRetirement == 0x400);
  static_assert(kEventDramRetirementFailure == 0x800);
  static_assert(kEventNonFatalPoison == 0x1000);
  static_assert(kEventFatalPoison == 0x2000);
  static_assert(kEventGpuUnavailable == 0x4000);
  static_assert(kEventRecoveryAction == 0x8000);
}

TEST(NvmlConstantsTest, ClockEventReasons) {
  static_assert(kReasonIdle == 0x1);
  static_assert(kReasonAppClocks == 0x2);
  static_assert(kReasonSwPowerCap == 0x4);
  static_assert(kReasonHwSlowdown == 0x8);
  static_assert(kReasonSyncBoost == 0x10);
  static_assert(kReasonSwThermal == 0x20);
  static_assert(kReasonHwThermal == 0x40);
  static_assert(kReasonHwPowerBrake == 0x80);
  static_assert(kReasonDisplayClocks == 0x100);
}

TEST(NvmlConstantsTest, FieldIdsAndValueTypes) {
  static_assert(kFieldEccSbeVolatile == 3);
  static_assert(kFieldEccDbeVolatile == 4);
  static_assert(kFieldEccSbeAggregate == 5);
  static_assert(kFieldEccDbeAggregate == 6);
  static_assert(kFieldRetiredSbe == 29);
  static_assert(kFieldRetiredDbe == 30);
  static_assert(kFieldRetiredPending == 31);
  static_assert(kFieldPowerViolation == 74);
  static_assert(kFieldThermalViolation == 75);
  static_assert(kFieldSyncBoostViolation == 76);
  static_assert(kFieldBoardLimitViolation == 77);
  static_assert(kFieldLowUtilViolation == 78);
  static_assert(kFieldReliabilityViolation == 79);
  static_assert(kShutdownTemperature == 0);
  static_assert(kSlowdownTemperature == 1);
  static_assert(kMemoryMaxTemperature == 2);
  static_assert(kGpuMaxTemperature == 3);
  static_assert(kFieldMemoryTemperature == 82);
  static_assert(kFieldEnergy == 83);
  static_assert(kFieldNvLinkCount == 91);
  static_assert(kFieldPcieReplay == 94);
  static_assert(kFieldNvLinkDataTx == 138);
  static_assert(kFieldNvLinkDataRx == 139);
  static_assert(kFieldRemappedCorrectable == 142);
  static_assert(kFieldRemappedUncorrectable == 143);
  static_assert(kFieldRemapPending == 144);
  static_assert(kFieldRemapFailure == 145);
  static_assert(kFieldResetlessMig == 184);
  static_assert(kFieldPowerAverage == 185);
  static_assert(kFieldPowerInstant == 186);
  static_assert(kFieldShutdownTlimit == 193);
  static_assert(kFieldSlowdownTlimit == 194);
  static_assert(kFieldMemoryTlimit == 195);
  static_assert(kFieldGpuMaxTlimit == 196);
  static_assert(kFieldPcieTxBytes == 197);
  static_assert(kFieldPcieRxBytes == 198);
  static_assert(kFieldRecoveryAction == 230);
  static_assert(kAllLinks == 0xffffffff);
  static_assert(kDouble == 0);
  static_assert(kUnsigned == 1);
  static_assert(kUnsignedLong == 2);
  static_assert(kUnsignedLongLong == 3);
  static_assert(kLongLong == 4);
  static_assert(kInt == 5);
  static_assert(kUnsignedShort == 6);
}

TEST(NvmlConstantsTest, Gpm) {
  static_assert(kGpmVersion == 1);
  static_assert(kGpmGraphicsUtil == 1);
  static_assert(kGpmTensorUtil == 5);
  static_assert(kGpmDramUtil == 10);
  static_assert(kGpmPcieTx == 20);
  static_assert(kGpmPcieRx == 21);
}

TEST(NvmlConstantsTest, Mig) {
  static_assert(kNoInstance == 0xffffffff);
  static_assert(kGpuInstanceProfiles == 0x12);
  static_assert(kComputeInstanceProfiles == 9);
  static_assert(kSharedEngines == 0);
  static_assert(kProfileP2p == 1);
  static_assert(kProfileGraphics == 2);
}

}  // namespace
}  // namespace cardcage::nvml
