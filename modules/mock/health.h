/* Health statements that the script has made about the devices. */
#ifndef MOCK_HEALTH_H_
#define MOCK_HEALTH_H_
#include "devices.h"

/* Returns the last statement about the cause, or NULL. Requires devices.lock. */
struct statement* statement_about(const struct device* device, cage_str cause);
/* Makes the statement for the host; borrows from both. NULL = healthy. */
cage_health health_of(const struct device* device, const struct statement* statement);

#endif /* MOCK_HEALTH_H_ */
