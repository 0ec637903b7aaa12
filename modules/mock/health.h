/* What the script has stated about the health of the devices. */
#ifndef MOCK_HEALTH_H_
#define MOCK_HEALTH_H_
#include "devices.h"

/* With devices.lock held: the last statement about the cause, or NULL. */
struct statement* statement_about(const struct device* device, cage_str cause);
/* For the host; borrows from both. NULL = healthy. */
cage_health health_of(const struct device* device, const struct statement* statement);

#endif /* MOCK_HEALTH_H_ */
