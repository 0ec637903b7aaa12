/* SPDX-License-Identifier: Apache-2.0 */
/* cardcage/module.h: the whole contract between the Cardcage host and one module. Functions that
 * either side may lack are in the headers of cardcage/ext, which this header includes.
 *
 * Stable since 1.0: cardcage/layout.h asserts its sizes, abi/STABILITY.md says what may change.
 * Clean C89 to C23 and C++11 to C++23; needs only <stddef.h> and <stdint.h>; LP64 Linux.
 * The numbered rules of abi/RULES.md complete this header and are cited here as [R4].
 *
 * Threads   cage_module functions are called on the instance's one module thread unless
 *           tagged or CAGE_MODULE_CONCURRENT is set; cage_host functions may be called from
 *           any thread and never block; families may say otherwise [R8].
 * Ownership every pointer is borrowed for the duration of the call and nothing changes owner;
 *           results go into sinks, which copy before they return [R3].
 * Life      create, start, discover, (prepare, unprepare, check, quiesce, resume, discover)*,
 *           stop, destroy. destroy follows every create that succeeded, perhaps as the next
 *           call; stop precedes it only if start succeeded (or is NULL) [R13].
 * Strings   UTF-8 with an explicit size; strings from the host also end in NUL.
 * Units     are in the member's name or beside it. Times are CLOCK_MONOTONIC nanoseconds.
 */
#ifndef CARDCAGE_MODULE_H_
#define CARDCAGE_MODULE_H_
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_ABI_MAJOR 1u          /* part of the entry symbol's name [R1] */
#define CAGE_ABI_MINOR 0u          /* +1 per addition; every addition says "since 1.N" */
#define CAGE_MAGIC     0x45474143u /* bytes 'C','A','G','E' */
#define CAGE_EXPORT    __attribute__((visibility("default")))
#define CAGE_ENTRY     "cage_module_v1"

/* True if the side that filled *p knew the member f [R2]. */
#define CAGE_HAS(p, f) \
  ((size_t)(p)->struct_size >= (size_t)((const char *)(&(p)->f + 1) - (const char *)(p)))
#define CAGE_CAN(p, f) (CAGE_HAS(p, f) && (p)->f)
/* Initializer of a cage_str from a literal: static const cage_str s = CAGE_LIT("text"); */
#define CAGE_LIT(text) { "" text "", sizeof(text) - 1u }

typedef char cage_needs_lp64[sizeof(void *) == 8 && sizeof(long) == 8 ? 1 : -1]; /* [R10] */

/* -- leaf types: frozen within a major, so they may be elements of arrays [R2] --------- */

typedef struct cage_str   { const char *data; size_t size; } cage_str;
typedef struct cage_bytes { const void *data; size_t size; } cage_bytes;

typedef int32_t cage_status;       /* the numbers of the canonical (gRPC) status codes */
enum {
  CAGE_OK = 0, CAGE_CANCELLED = 1, CAGE_UNKNOWN = 2, CAGE_INVALID_ARGUMENT = 3,
  CAGE_DEADLINE_EXCEEDED = 4, CAGE_NOT_FOUND = 5, CAGE_ALREADY_EXISTS = 6,
  CAGE_PERMISSION_DENIED = 7, CAGE_RESOURCE_EXHAUSTED = 8, CAGE_FAILED_PRECONDITION = 9,
  CAGE_ABORTED = 10, CAGE_OUT_OF_RANGE = 11, CAGE_UNIMPLEMENTED = 12, CAGE_INTERNAL = 13,
  CAGE_UNAVAILABLE = 14, CAGE_DATA_LOSS = 15, CAGE_UNAUTHENTICATED = 16
};

/* An attribute of a ResourceSlice device (KEP-4381). Names are C identifiers of at most 32
 * characters, optionally "domain/name"; strings at most 64 bytes; versions are semver 2.0.0. */
enum { CAGE_ATTR_INT = 1, CAGE_ATTR_BOOL = 2, CAGE_ATTR_STRING = 3, CAGE_ATTR_VERSION = 4,
       CAGE_ATTR_LIST = 0x100 };   /* ORed in: the value is a list of that type (KEP-5491) */
typedef struct cage_attr {
  cage_str name;                   /* "model" or "example.com/model" */
  uint32_t type;
  uint32_t count;                  /* 1 for a scalar */
  union {
    int64_t  i;                    /* INT; BOOL as 0 or 1 */
    cage_str s;                    /* STRING, VERSION */
    const int64_t  *ints;          /* lists of `count` elements: INT, BOOL */
    const cage_str *strs;          /* lists of `count` elements: STRING, VERSION */
  } v;
} cage_attr;

/* value * 10^exp10, printed with SI suffixes (DECIMAL) or Ki, Mi, Gi (BINARY, exp10 0). */
enum { CAGE_QTY_DECIMAL = 0, CAGE_QTY_BINARY = 1 };
typedef struct cage_quantity {
  cage_str name; int64_t value; int32_t exp10; uint32_t format;
} cage_quantity;

/* -- values: declared by the module, checked by the host, read by name ----------------- */

/* One declared option (of the TOML table [module.options]) or parameter (of the opaque
 * configuration in a ResourceClaim or DeviceClass). The host refuses unknown names and
 * values out of bounds, prints the declarations (`cagectl modules --options`), and fills in
 * defaults, so a module parses neither TOML nor JSON. */
enum { CAGE_OPTION_STRING = 1, CAGE_OPTION_INT = 2, CAGE_OPTION_BOOL = 3,
       CAGE_OPTION_DURATION = 4,   /* "250ms", "30s"; integer() reads it in nanoseconds */
       CAGE_OPTION_LIST = 5,       /* list of strings */
       CAGE_OPTION_MAP = 6 };      /* for parameters: an object whose values are strings; no default
                                      but {} */
enum { CAGE_OPTION_REQUIRED = 1u << 0,   /* no default: must be given */
       CAGE_OPTION_SECRET = 1u << 1,     /* never printed or logged */
       CAGE_OPTION_LIVE = 1u << 2,       /* for an option: cage.configure takes a new value; without
                                            that family a change needs a new instance */
       CAGE_OPTION_CLASS_ONLY = 1u << 3, /* for parameters: a DeviceClass may give it, a ResourceClaim
                                            may not */
       CAGE_OPTION_QUANTITY = 1u << 4,   /* for parameters, STRING or MAP: amounts as Kubernetes
                                            writes them, "4Gi", 1e9 or 1000. The module gets the
                                            whole number, rounded up: "4294967296" */
       CAGE_OPTION_OBJECTS = 1u << 5 };  /* LIST: an item may be an object, or in an option a table, of
                                            strings, integers, booleans and, in a table, lists. The module
                                            gets sorted lines "NAME=VALUE\n", one for each item of a list */
typedef struct cage_option {
  uint32_t struct_size;
  uint32_t type;
  uint32_t flags;
  uint32_t choice_count;
  cage_str name;                   /* [a-zA-Z][a-zA-Z0-9_]*, at most 32; by convention mount_dir
                                      in TOML. That of a parameter, by convention intervalMs, may
                                      have 64 or be a path of at most 8 such names and 128
                                      characters: sharing.mpsConfig.threads */
  cage_str default_text;           /* as in TOML, but STRING and DURATION without quotes:
                                      gpu, 42, true, 1m30s, ["a", "b"]; empty = zero value */
  cage_str help;                   /* one line, at most 256 bytes */
  const cage_str *choices;         /* STRING and LIST: the allowed values; NULL = any */
  int64_t min, max;                /* INT, DURATION (ns), STRING, LIST and MAP (length); both 0 =
                                      any */
} cage_option;

enum { CAGE_SCHEMA_WHOLE = 1u << 0,     /* the last of several documents replaces the others instead
                                            of being merged with them field by field. In the others
                                            only types are checked, not choices and ranges */
       CAGE_SCHEMA_DEFAULT = 1u << 1,   /* documents that name neither apiVersion nor kind are of
                                            this kind, the only such one of the module */
       CAGE_SCHEMA_RAW = 1u << 2 };     /* no fields: the host checks only apiVersion and kind, and the
                                            module reads cage_claim.params itself; allocs have no
                                            values */
/* One kind of parameters [R19]. If a class or a claim names requests for them, all devices
 * of these must take the kind. Without requests they are for those of the claim that take it. */
typedef struct cage_params_schema {
  uint32_t struct_size;
  uint32_t field_count;
  cage_str api_version, kind;      /* "gpu.example.com/v1", "GpuConfig": the parameters name them. The
                                      only schema of a module may leave either empty: any will do */
  const cage_option *const *fields;
  const cage_str *device_kinds;    /* device kinds that take it (cage_device.kind); NULL = all */
  uint32_t device_kind_count;
  uint32_t flags;                  /* CAGE_SCHEMA_* */
} cage_params_schema;

/* Checked values. Every declared name is present. Valid during the call that passed them.
 * For a wrong name or type the host returns the zero value and logs a defect of the module. */
typedef struct cage_values {
  uint32_t struct_size;
  uint32_t reserved;
  void    *host_data;
  int64_t  (*integer)(const struct cage_values *, const char *name);  /* INT, DURATION */
  int32_t  (*boolean)(const struct cage_values *, const char *name);
  cage_str (*string)(const struct cage_values *, const char *name);
  uint32_t (*list)(const struct cage_values *, const char *name, const cage_str **items);
  int32_t  (*given)(const struct cage_values *, const char *name);    /* 0 = default; also of an
                                      object with parameters: "sharing" of sharing.strategy */
  uint32_t (*map)(const struct cage_values *, const char *name, const cage_str **keys,
                  const cage_str **values);  /* sorted by key */
  int32_t  (*source)(const struct cage_values *, const char *name);   /* CAGE_PARAMS_CLASS or
                                      _CLAIM; -1 = default, or an option of the module */
  cage_str params_kind;            /* the kind of the parameters; empty for options */
} cage_values;

/* -- extensible types: passed by pointer, struct_size first, members only appended [R2] - */

/* One call from host to module; borrowed until the call returns [R4]. */
typedef struct cage_call {
  uint32_t struct_size;
  uint32_t attempt;                /* prepare, unprepare, pre_start: how often the host has tried
                                      this call for the claim, including this one, since this
                                      instance started or the call last succeeded; others: 1 */
  void    *host_data;
  cage_str id;                     /* for the module's log lines */
  uint64_t deadline_ns;            /* CLOCK_MONOTONIC; the host gives up then; 0 = none */
  int32_t  cancel_fd;              /* readable once cancelled; poll it, never read or close;
                                      -1 = cannot be cancelled */
  uint32_t reserved;
  int32_t (*cancelled)(const struct cage_call *);              /* [any-thread] */
  void    (*explain)(const struct cage_call *, cage_str text); /* why the call fails: subject,
                                      cause, remedy; last wins, cut at 1024 bytes */
  void    (*progress)(const struct cage_call *, uint32_t percent, cage_str text);
                                   /* how far a call for a claim is, for people: 40,
                                      "writing the bitstream"; percent > 100 = unknown, text cut
                                      at 256 bytes. As often as you like */
  cage_str (*explained)(const struct cage_call *);  /* the explanation so far, such as why
                                      a function of the host failed; valid until the next one. On
                                      the thread of the call only */
} cage_call;

enum { CAGE_HEALTH_UNKNOWN = 0, CAGE_HEALTH_OK = 1, CAGE_HEALTH_BAD = 2,
       CAGE_HEALTH_UNMONITORED = 3,    /* nothing watches it; it stays in use */
       CAGE_HEALTH_DEGRADED = 4 };     /* it works, but not as it should; it stays in use */
enum { CAGE_TAINT_NONE = 0, CAGE_TAINT_NO_SCHEDULE = 1, CAGE_TAINT_NO_EXECUTE = 2,
       CAGE_TAINT_INFORM = 3 };        /* a taint with the effect None (KEP-5055) */
/* A statement about one cause of one device: it replaces the earlier statement about the same device
 * and cause. The worst cause is the health of the device: BAD before UNKNOWN,
 * UNMONITORED, DEGRADED and OK. Each state but OK may have a taint. A parent's statement also applies
 * to its partitions [R6]. Operators may judge a cause by other rules than the module [R23]. */
typedef struct cage_health {
  uint32_t struct_size;
  uint32_t state;
  cage_str device_id;              /* may be empty inside a cage_device */
  cage_str reason;                 /* CamelCase token, e.g. "XidError" */
  cage_str message;                /* for people; the kubelet shows 1024 bytes */
  uint32_t timeout_s;              /* the host reports UNKNOWN after this silence; 0 = never */
  uint32_t taint;                  /* a hint to the host */
  cage_str cause;                  /* CamelCase token, e.g. "Ecc"; at most 16 per device.
                                      The empty string is a valid cause */
  cage_str taint_key;              /* "example.com/ecc"; empty = DRIVER/unhealthy. One
                                      key has one taint per device and effect: the worst cause's */
  cage_str taint_value;            /* a label value; empty = `reason` */
  double   value;                  /* measured value, in the unit of its cage_cause */
  uint32_t has_value;              /* 1 if `value` is given; only for a declared cause
                                      with a unit */
  uint32_t reserved;
} cage_health;

/* A cause that the module states, and the rule by which the host judges it unless the operator
 * writes another one. Without a declaration a cause counts at once and is over as soon as the
 * module says so. [R23] */
enum { CAGE_CAUSE_EVENT = 1u << 0,     /* stated when it happens; the module never states its end */
       CAGE_CAUSE_ABOVE = 1u << 1,     /* not OK while value >= limit, whatever state is stated */
       CAGE_CAUSE_BELOW = 1u << 2 };   /* not OK while value <= limit */
enum { CAGE_RECOVERY_REPORT = 0,       /* it is over when the module has stated so for recovery_s */
       CAGE_RECOVERY_SILENCE = 1,      /* when nothing bad was stated for recovery_s */
       CAGE_RECOVERY_STABLE = 2,       /* when its value has not changed for recovery_s */
       CAGE_RECOVERY_OPERATOR = 3 };   /* when an operator says so */
typedef struct cage_cause {        /* static const storage in the module */
  uint32_t struct_size;
  uint32_t flags;                  /* CAGE_CAUSE_* */
  cage_str name;                   /* as in cage_health.cause, never empty */
  cage_str help;                   /* one line: what can be wrong */
  cage_str unit;                   /* UCUM code of the value, such as "Cel", "W", "1"; empty = no
                                      value */
  double   limit;                  /* with ABOVE or BELOW, else 0 */
  double   clear_limit;            /* good again from here on: at most `limit` with ABOVE, at least
                                      with BELOW */
  uint32_t severity;               /* CAGE_HEALTH_* of each statement that is not OK; UNKNOWN = as
                                      stated; with ABOVE and BELOW: BAD or DEGRADED */
  uint32_t hold_down_s;            /* it counts after it has lasted this long; 0 = at once */
  uint32_t recovery;               /* CAGE_RECOVERY_* */
  uint32_t recovery_s;             /* not 0 with SILENCE and STABLE */
  uint32_t relapses, window_s;     /* after this many relapses within window_s, only an operator ends
                                      it; 0 = never */
  uint32_t taint;                  /* CAGE_TAINT_* of each statement that names none */
  uint32_t reserved;
  cage_str taint_key, taint_value; /* as in cage_health */
} cage_cause;

enum { CAGE_LOG_TRACE = 0, CAGE_LOG_DEBUG = 1, CAGE_LOG_INFO = 2, CAGE_LOG_WARN = 3,
       CAGE_LOG_ERROR = 4 };
typedef struct cage_host {         /* host services; valid from create() to destroy() */
  uint32_t struct_size;
  uint32_t abi_minor;
  void    *host_data;
  cage_str version;
  int32_t (*log_enabled)(const struct cage_host *, uint32_t level);        /* [any-thread] */
  void    (*log)(const struct cage_host *, uint32_t level, cage_str text); /* [any-thread] */
  void    (*rescan)(const struct cage_host *);       /* ask for discover() [any-thread] */
  void    (*health)(const struct cage_host *, const cage_health *);        /* [any-thread] */
  const void *(*extension)(const struct cage_host *, const char *id);      /* [any-thread] */
  cage_str sysfs, procfs, devfs;   /* where these of the node are, "/sys" unless the host
                                      runs in a container. Edits name paths of the node itself */
  cage_str driver_root;            /* below it is the vendor's driver; mostly "/". Edits name
                                      its files by the paths seen here, even if they are elsewhere
                                      on the node */
} cage_host;

enum { CAGE_DEVICE_SHARED = 1u << 0 }; /* several claims may hold it (consumable capacity) */
typedef struct cage_device {
  uint32_t struct_size;
  uint32_t flags;
  cage_str id;                     /* stable over reboots: UUID, serial or bus address; <= 253 */
  cage_str kind;                   /* "gpu", "fpga", "nic", or the vendor's own word */
  cage_str parent_id;              /* empty unless this is a partition */
  cage_str pci_bus_id;             /* "0000:3b:00.0"; the host derives pcieRoot and NUMA */
  const int32_t *numa_nodes;       uint32_t numa_count;     uint32_t reserved0;
  const cage_attr *attrs;          uint32_t attr_count;     uint32_t reserved1;
  const cage_quantity *capacity;   uint32_t capacity_count; uint32_t reserved2;
  const cage_health *health;       /* NULL = no statement: the last host->health() remains,
                                      or UNKNOWN if there was none */
  cage_str name;                   /* its name in Kubernetes, a DNS label such as
                                      gpu-0, unique in the instance; claims name the device by
                                      it, so it is as stable as the id. Empty = from the id */
} cage_device;

typedef struct cage_snapshot {     /* sink of discover(): the full list, never a delta [R6] */
  uint32_t struct_size;
  uint32_t reserved;
  void    *host_data;
  cage_status (*device)(struct cage_snapshot *, const cage_device *); /* not OK: the host
                                      left this device out and logged why; continue */
  const void *(*extension)(struct cage_snapshot *, const char *id);
} cage_snapshot;

enum { CAGE_ALLOC_ADMIN = 1u << 0 };   /* others may be using it (KEP-5018): do not reset it */
typedef struct cage_alloc {
  uint32_t struct_size;
  uint32_t flags;
  cage_str device_id;
  cage_str request;                /* "main" or "main/sub"; empty from the device-plugin API */
  cage_str share_id;               /* empty unless the device is shared */
  const cage_quantity *consumed; uint32_t consumed_count; uint32_t reserved;
  const cage_values *values;       /* prepare(), bind(), attach(): the declared parameters of this device,
                                      each from default, class or claim, later wins. NULL if no
                                      schema with fields is for it */
} cage_alloc;

enum { CAGE_PARAMS_CLASS = 0, CAGE_PARAMS_CLAIM = 1 };
/* Opaque parameters of this claim as the user wrote them, in rising precedence (class before
 * claim, later wins). Modules that declare fields read cage_alloc.values instead. */
typedef struct cage_params {
  uint32_t struct_size;
  uint32_t source;
  cage_str json;                   /* <= 10 KiB, a JSON object */
  const cage_str *requests; uint32_t request_count; uint32_t reserved;  /* none = all */
} cage_params;

enum { CAGE_CLAIM_OTHER_BOOT = 1u << 0 };  /* `state` was saved before the last reboot */
/* The host may repeat prepare() and unprepare() for the same uid, which must do no harm, and
 * may call unprepare() for a claim whose prepare() failed or never ran [R14]. */
typedef struct cage_claim {
  uint32_t struct_size;
  uint32_t state_version;          /* cage_module.state_version of the one that saved `state` */
  cage_str uid, name_space, name;  /* with the device-plugin API each device is a claim of its
                                      own: the host makes the uid, names are empty [R15] */
  const cage_alloc  *const *allocs; uint32_t alloc_count;  uint32_t flags;
  const cage_params *const *params; uint32_t params_count; uint32_t reserved; /* prepare() */
  cage_bytes state;                /* empty until prepare() has saved a state [R7] */
  cage_bytes journal;              /* the last write by cage.edits.journal */
  cage_str resource;               /* with the device-plugin API the name of the resource,
                                      "example.com/nic"; empty for a claim */
} cage_claim;

/* The container edits of the Container Device Interface. */
typedef struct cage_device_node {
  uint32_t struct_size;
  uint32_t mode;                   /* 0 = as on the host */
  cage_str path, host_path;        /* in the container; on the host, empty = path */
  cage_str permissions;            /* letters of "rwm"; empty = the runtime's default */
  cage_str type;                   /* "c", "b", "p"; empty = the runtime looks it up */
  int64_t  major, minor;           /* -1 = the runtime looks it up */
  int64_t  uid, gid;               /* -1 = unchanged */
} cage_device_node;
typedef struct cage_mount {
  uint32_t struct_size;
  uint32_t option_count;
  cage_str host_path, container_path, type;  /* type empty = the runtime's default */
  const cage_str *options;
} cage_mount;
typedef struct cage_hook {
  uint32_t struct_size;
  int32_t  timeout_s;              /* 0 = none */
  cage_str name, path;             /* "createContainer", ... */
  const cage_str *args; const cage_str *env; uint32_t arg_count; uint32_t env_count;
} cage_hook;
typedef struct cage_net_device {
  uint32_t struct_size;
  uint32_t reserved;
  cage_str host_interface, name;
} cage_net_device;

typedef struct cage_edits {        /* sink of prepare(); alloc = index, -1 = the whole claim;
                                      not OK: refused and explained, so return the status */
  uint32_t struct_size;
  uint32_t reserved;
  void    *host_data;
  cage_status (*env)(struct cage_edits *, int32_t alloc, cage_str key, cage_str value);
  cage_status (*device_node)(struct cage_edits *, int32_t alloc, const cage_device_node *);
  cage_status (*mount)(struct cage_edits *, int32_t alloc, const cage_mount *);
  cage_status (*hook)(struct cage_edits *, int32_t alloc, const cage_hook *);
  cage_status (*net_device)(struct cage_edits *, int32_t alloc, const cage_net_device *);
  cage_status (*group)(struct cage_edits *, int32_t alloc, uint32_t gid);
  cage_status (*state)(struct cage_edits *, cage_bytes blob);  /* <= 64 KiB, last wins [R7] */
  const void *(*extension)(struct cage_edits *, const char *id);
  cage_status (*env_list)(struct cage_edits *, int32_t alloc, cage_str key, cage_str value);
                                   /* as env(), but the values of all devices are
                                      joined by ',' in the order of their names: of the claim, and
                                      with the device-plugin API of the container [R15]. JSON
                                      objects become one with the members of all */
  cage_status (*locked_memory)(struct cage_edits *, int32_t alloc, uint64_t bytes);
                                   /* containers may lock at least this much memory, as
                                      RDMA and VFIO do (RLIMIT_MEMLOCK); UINT64_MAX = unlimited */
  cage_status (*ld_path)(struct cage_edits *, int32_t alloc, cage_str folder, cage_str newer_than);
                                   /* programs find the libraries mounted in this folder of
                                      the container, as if ldconfig(8) had run there. newer_than:
                                      empty, or "libNAME.so.N": the image's own in the folder, and
                                      before the mounted ones, if its libNAME.so.M.x has M > N */
  cage_status (*proc_text)(struct cage_edits *, int32_t alloc, cage_str path, cage_str text);
                                   /* containers see this text, at most 16 KiB, instead of
                                      that of a file below /proc, which CDI cannot mount over; no
                                      effect if there is no such file */
} cage_edits;

/* -- the module ------------------------------------------------------------------------ */

typedef struct cage_instance cage_instance;  /* the module's own, opaque to the host */
enum {
  CAGE_MODULE_UNLOADABLE   = 1u << 0,  /* may be unmapped after destroy; default: never */
  CAGE_MODULE_PROCESS_ONLY = 1u << 1,  /* refuse isolation = "in-process" */
  CAGE_MODULE_CONCURRENT   = 1u << 2,  /* calls for a claim have threads of their own and overlap
                                          other calls [R8] */
  CAGE_MODULE_NO_PREPARE   = 1u << 3   /* prepare() and unprepare() change nothing, and
                                          containers get nothing: a kubelet may leave both out
                                          (KEP-5945) */
};
typedef struct cage_module {       /* static const storage in the module */
  uint32_t magic;
  uint32_t struct_size;
  uint32_t abi_minor;              /* CAGE_ABI_MINOR at its build */
  uint32_t min_host_minor;         /* the oldest host that it accepts */
  uint32_t flags;
  uint32_t state_version;          /* written with every state blob */
  cage_str id, version, vendor;    /* "com.example.fpga", semver, text */
  const cage_option *const *options;
  const cage_params_schema *const *schemas;  /* its kinds of parameters. A device without parameters
                                      has the defaults of the first that it takes. A module without
                                      schemas reads cage_claim.params itself, unchecked */
  const cage_cause *const *causes; /* the causes that it states; at most 64 */
  const cage_str *needs;           /* ids of families, of either side, without which it cannot work: a
                                      host that lacks one refuses the file and names it. At most 32 */
  uint32_t option_count, schema_count, cause_count, need_count;
  uint32_t claim_call_limit_s;     /* how long prepare() and unprepare() may take, if that is longer
                                      than the host's own limit (2 min unless the operator says
                                      otherwise); at most 3600. They show progress */
  uint32_t reserved;

  /* Required: create, discover, prepare, unprepare, destroy. The others may be NULL.
   * create: `options` are valid during the call, `host` until destroy returns; the host
   * reads *out only after OK. unprepare: OK when nothing of the claim is left on the hardware.
   * prepare while quiesced: UNAVAILABLE. */
  cage_status (*create)(const cage_call *, const cage_host *, const cage_values *options,
                        cage_instance **out);
  cage_status (*start)(cage_instance *, const cage_call *);
  cage_status (*discover)(cage_instance *, const cage_call *, cage_snapshot *);
  cage_status (*prepare)(cage_instance *, const cage_call *, const cage_claim *, cage_edits *);
  cage_status (*unprepare)(cage_instance *, const cage_call *, const cage_claim *);
  cage_status (*check)(cage_instance *, const cage_call *, cage_str device_id); /* poll health */
  cage_status (*quiesce)(cage_instance *, const cage_call *);  /* release the hardware [R12] */
  cage_status (*resume)(cage_instance *, const cage_call *);
  cage_status (*stop)(cage_instance *, const cage_call *);
  void        (*destroy)(cage_instance *);
  const void *(*extension)(const char *id);  /* [any-thread]; unknown = NULL [R5] */
} cage_module;

/* The only exported symbol. [any-thread], repeatable, no I/O, no threads, no allocation. */
CAGE_EXPORT const cage_module *cage_module_v1(uint32_t host_minor);

#ifdef __cplusplus
}
#endif

/* -- families: optional functions, which either side may lack [R5] ----------------------
 * Each header has the id of a family, its structs and its contract. Threads, ownership and units
 * are as above. An id ends in "/revision"; a changed family gets a new one. condition.h has the
 * struct that two of them share.
 *
 * CAGE_EXT_...   offered by a module: cage_module.extension
 * CAGE_HOST_..., CAGE_SNAPSHOT_..., CAGE_EDITS_...   offered by the host: the function `extension`
 *                of cage_host, cage_snapshot and cage_edits
 *
 * bind.h, binding.h and sandbox.h are drafts, outside the promise of abi/STABILITY.md: a later host
 * may offer another revision in their place.
 * Each header includes this one before its own include guard, so any of them may come first. */
#include "ext/bind.h"
#include "ext/binding.h"
#include "ext/catalogue.h"
#include "ext/condition.h"
#include "ext/configure.h"
#include "ext/counters.h"
#include "ext/exec.h"
#include "ext/journal.h"
#include "ext/labels.h"
#include "ext/metadata.h"
#include "ext/metrics.h"
#include "ext/not_offered.h"
#include "ext/policy.h"
#include "ext/poll.h"
#include "ext/pre_start.h"
#include "ext/preferred.h"
#include "ext/quiesce.h"
#include "ext/reconcile.h"
#include "ext/reset.h"
#include "ext/sandbox.h"
#include "ext/service.h"
#include "ext/status.h"
#include "ext/watch.h"
#include "ext/write.h"
#include "layout.h"
#endif /* CARDCAGE_MODULE_H_ */
