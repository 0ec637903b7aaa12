#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

struct evp_md_ctx_st;

namespace cardcage::fpga {

// Computes the SHA-256 hash of bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  void add(std::span<const char> bytes);
  // Returns 64 lower-case digits. Nothing can be added afterwards.
  std::string finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace cardcage::fpga
