/* Short forms for the declarations of options and parameters. */
#ifndef MOCK_DECLARE_H_
#define MOCK_DECLARE_H_
#include <cardcage/module.h>

#define OPTION(...) \
  &(const cage_option) { .struct_size = sizeof(cage_option), __VA_ARGS__ }
/* NOLINTBEGIN(bugprone-macro-parentheses): the parameters are parts of an initializer */
#define NAMED(text, type_, default_, help_) \
  .name = CAGE_LIT(text), .type = CAGE_OPTION_##type_, .default_text = CAGE_LIT(default_), .help = CAGE_LIT(help_)
/* NOLINTEND(bugprone-macro-parentheses) */
#define ONE_OF(list) .choices = (list), .choice_count = sizeof(list) / sizeof *(list)

#endif /* MOCK_DECLARE_H_ */
