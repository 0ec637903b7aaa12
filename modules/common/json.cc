// Boost.JSON itself. Debian's archive is not position-independent, so it cannot be part of a module, and its shared
// library would be one more package on each node.
#include <boost/json/src.hpp>
