// Admits the one browser that opens the printed address.
#pragma once

#include "web/server/access.h"

namespace cardcage {

// GET /?token=T, once, sets the cookie of the session and redirects to /. The session ends with this object.
class OneTimeToken final : public Access {
 public:
  // `way_in` tells people without a session how to get one. The other parameters are those of Visitor.
  OneTimeToken(std::string way_in, bool may_command, std::string why_not = {});

  // Returns the token, 64 hex digits.
  const std::string& token() const { return token_; }
  Task<std::expected<Visitor, WebResponse>> admit(WebRequest request) override;

 private:
  WebResponse refusal(const WebRequest& request) const;

  const std::string way_in_;
  const bool may_command_;
  const std::string why_not_;
  const std::string token_, session_;
  bool used_ = false;
};

}  // namespace cardcage
