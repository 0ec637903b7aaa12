// Steps that do not depend on each other, such as the release of each device of a claim.
#pragma once

#include <cardcage/sdk.hpp>
#include <exception>

namespace cardcage::hardware {

// A step that fails does not keep the others from being tried.
class Attempts {
 public:
  template <class Step>
  void run(const Step& step) {
    try {
      step();
    } catch (const cage::Error&) {
      if (!first_) first_ = std::current_exception();
    }
  }
  bool failed() const { return first_ != nullptr; }
  // Throws the first error.
  void finish() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

}  // namespace cardcage::hardware
