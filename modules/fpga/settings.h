// Parameters of kind FpgaConfig: the request of a claim for an FPGA.
#pragma once

#include <cardcage/sdk.hpp>
#include <string>
#include <vector>

namespace cardcage::fpga {

inline constexpr std::string_view kApiVersion = "fpga.cardcage.dev/v1alpha1", kKind = "FpgaConfig";

namespace field {
inline constexpr const char *kBitstream = "bitstream", *kFunction = "function", *kReprogram = "reprogram",
                            *kVirtual = "virtualFunctions", *kAllowed = "allowedBitstreams", *kBlank = "blankBitstream",
                            *kScrubBitstream = "scrub.bitstream", *kScrubProgram = "scrub.program";
}  // namespace field

inline constexpr cage_str kReprogramChoices[] = {CAGE_LIT("IfNeeded"), CAGE_LIT("Always")};
inline constexpr cage::Option kFields[] = {
    cage::Option::text(field::kBitstream, "", "the entry of the node's catalogue to load: cagectl catalogue"),
    cage::Option::text(field::kFunction, "", "the UUID of the function that must be loaded"),
    cage::Option::text(field::kReprogram, "IfNeeded", "load the bitstream also if its function is loaded already")
        .one_of(kReprogramChoices),
    cage::Option::boolean(field::kVirtual, "false", "give ports as virtual functions, through VFIO"),
    cage::Option::list(field::kAllowed, "[]", "the bitstreams that claims may name, with * and ?; none = all")
        .class_only(),
    cage::Option::text(field::kBlank, "", "the bitstream to load when the claim is released").class_only(),
    cage::Option::text(field::kScrubBitstream, "", "the bitstream to load before the scrub program runs").class_only(),
    cage::Option::text(field::kScrubProgram, "", "the program that erases the card's memory when the claim is released")
        .class_only(),
};

struct Settings {
  std::string bitstream;           // empty: the loaded function stays
  std::string function;            // 32 hexadecimal digits; empty: any
  bool always = false;             // loads the bitstream also if its function is loaded
  bool virtual_functions = false;  // gives ports as virtual functions
  std::vector<std::string> allowed;
  std::string blank, scrub_bitstream, scrub_program;
};

// Throws INVALID_ARGUMENT, or PERMISSION_DENIED for a bitstream that the class does not allow.
Settings settings_of(const cage::Allocation& allocation);

}  // namespace cardcage::fpga
