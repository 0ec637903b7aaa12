/* The declared kinds of parameters. */
#ifndef MOCK_PARAMS_H_
#define MOCK_PARAMS_H_
#include <cardcage/module.h>

enum { MOCK_SCHEMA_COUNT = 3 };
extern const cage_params_schema* const mock_schemas[MOCK_SCHEMA_COUNT];

#endif /* MOCK_PARAMS_H_ */
