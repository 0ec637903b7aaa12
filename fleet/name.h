// Texts that many objects of a cluster share: names of drivers, models, pools and nodes.
#pragma once

#include <boost/flyweight.hpp>
#include <boost/flyweight/no_locking.hpp>
#include <functional>
#include <string>

namespace cardcage {

// [core] Equal texts share their memory, which is freed with the last of them. As large as a pointer.
using Name = boost::flyweight<std::string, boost::flyweights::no_locking>;

// Orders by address: for look-ups, not for people.
struct ByAddress {
  bool operator()(const Name& a, const Name& b) const { return std::less<>()(&a.get(), &b.get()); }
};

}  // namespace cardcage
