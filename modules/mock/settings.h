/* The declared options, read once in create(). */
#ifndef MOCK_SETTINGS_H_
#define MOCK_SETTINGS_H_
#include "devices.h"
#include "faults.h"

enum { MAX_EXEC = 8, MAX_LABELS = 80, MAX_LINES = 8 };

struct words {
  char all[MAX_EXEC][256];
  uint32_t count;
};

struct lines {
  char all[MAX_LINES][512];
  uint32_t count;
};

struct settings {
  struct hardware hardware; /* the existing devices */
  char device_node[256];    /* the host's device node behind every /dev/mock/<id> */
  char mount_dir[256];      /* empty = no files */
  char script_file[256];    /* empty = none */
  bool env_list, journal;
  struct words exec, service; /* a program and its arguments */
  uint32_t exec_limit_ms;
  bool service_stop;
  uint32_t metrics_lanes, metrics_flood;
  char labels[MAX_LABELS][128]; /* "name=value" */
  uint32_t label_count;
  struct lines write, write_back; /* see write.c */
  struct lines catalogue;         /* see catalogue.c */
  struct lines statements;        /* see statements.c */
  uint32_t write_limit_ms;
};

enum { MOCK_OPTION_COUNT = 45 };
extern const cage_option* const mock_options[MOCK_OPTION_COUNT];

/* Reads `options` into settings, devices and faults, and keeps no pointer to them. */
cage_status settings_read(const cage_call* call, const cage_values* options, struct settings* settings,
                          struct devices* devices, struct faults* faults);

/* Reads the options with CAGE_OPTION_LIVE. */
void settings_read_live(const cage_values* options, struct faults* faults);

#endif /* MOCK_SETTINGS_H_ */
