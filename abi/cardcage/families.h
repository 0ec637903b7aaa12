/* SPDX-License-Identifier: Apache-2.0 */
/* cardcage/families.h: optional families of functions, which either side may lack. Threads,
 * ownership and units are as in cardcage/module.h.
 *
 * CAGE_EXT_...   offered by a module: cage_module.extension
 * CAGE_HOST_..., CAGE_SNAPSHOT_..., CAGE_EDITS_...   offered by the host: the function `extension`
 *                of cage_host, cage_snapshot and cage_edits
 * An id ends in "/revision"; a changed family gets a new one [R5].
 */
#ifndef CARDCAGE_FAMILIES_H_
#define CARDCAGE_FAMILIES_H_
#include "module.h"
#ifdef __cplusplus
extern "C" {
#endif

#define CAGE_EXT_PREFERRED "cage.preferred/1"     /* device plugin: GetPreferredAllocation */
typedef struct cage_id_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void    *host_data;
  cage_status (*id)(struct cage_id_sink *, cage_str device_id);
} cage_id_sink;
/* choose: names the available devices that a container should get, `want` in all, including
 * the required ones. The host adds devices if these are too few, and chooses by itself if the
 * call fails. No id comes twice, all are available, and they name devices, not replicas. */
typedef struct cage_preferred {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*choose)(cage_instance *, const cage_call *, const cage_str *available,
                        uint32_t available_count, const cage_str *required,
                        uint32_t required_count, uint32_t want, cage_id_sink *out);
} cage_preferred;

#define CAGE_EXT_PRE_START "cage.pre_start/1"     /* device plugin: PreStartContainer, since 0.2 */
/* pre_start: a container with the device of the claim is about to start, for the first time or
 * again: reset or scrub the device. Unless the call returns OK, the container does not start and
 * the kubelet tries again later. The edits of prepare() stay valid [R15]. */
typedef struct cage_pre_start {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*pre_start)(cage_instance *, const cage_call *, const cage_claim *);
} cage_pre_start;

#define CAGE_EXT_CONFIGURE "cage.configure/1"     /* new values of live options, since 0.3 */
/* configure: replaces all options. Only options with CAGE_OPTION_LIVE may have changed. Unless the
 * call returns OK, the instance keeps its old options. */
typedef struct cage_configure {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*configure)(cage_instance *, const cage_call *, const cage_values *options);
} cage_configure;

#define CAGE_EXT_QUIESCE "cage.quiesce/1"         /* devices one by one, since 0.3 */
/* As quiesce and resume of cage_module, but for this device and its partitions; the others continue.
 * The host may repeat both, also for a device that is gone. Unless they return OK, the device stays
 * as it was. A new instance, or one that resumed, may get quiesce right after its discover(). */
typedef struct cage_quiesce {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*quiesce)(cage_instance *, const cage_call *, cage_str device_id);
  cage_status (*resume)(cage_instance *, const cage_call *, cage_str device_id);
} cage_quiesce;

#define CAGE_EXT_RESET "cage.reset/1"             /* heal a device, since 0.3 */
/* reset: resets the hardware of this device, and of all its partitions, and states its causes anew
 * before it returns OK. No claim holds any of them, unless an operator forces it. UNIMPLEMENTED:
 * this device cannot be reset [R24]. */
typedef struct cage_reset {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*reset)(cage_instance *, const cage_call *, cage_str device_id);
} cage_reset;

#define CAGE_EXT_METRICS "cage.metrics/1"         /* figures for Prometheus, since 0.3 */
enum { CAGE_METRIC_GAUGE = 1, CAGE_METRIC_COUNTER = 2 };
typedef struct cage_metric {       /* static const storage in the module */
  uint32_t struct_size;
  uint32_t type;
  cage_str name;                   /* [a-z][a-z0-9_]*, at most 64, unit last: temperature_celsius;
                                      that of a COUNTER ends in _total. The host prefixes it. Or
                                      [A-Z][A-Z0-9_]*, as it is: dashboards know it already */
  cage_str help;                   /* one line */
  const cage_str *labels;          /* their names: [a-zA-Z][a-zA-Z0-9_]*, at most 16 */
  uint32_t label_count;
  uint32_t reserved;
} cage_metric;
typedef struct cage_metrics_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void    *host_data;
  /* metric: the index in cage_metrics.metrics. device_id: empty = of the instance. label_values: as
   * many as the metric has labels. Not OK: the host left the sample out and logged why; go on. */
  cage_status (*sample)(struct cage_metrics_sink *, uint32_t metric, cage_str device_id,
                        const cage_str *label_values, double value);
} cage_metrics_sink;
/* collect: reports every current sample, each time. The host adds the pod, its container and the
 * claim that hold the device. [R17] */
typedef struct cage_metrics {
  uint32_t struct_size;
  uint32_t metric_count;
  const cage_metric *const *metrics;
  cage_status (*collect)(cage_instance *, const cage_call *, cage_metrics_sink *);
} cage_metrics;

#define CAGE_EXT_LABELS "cage.labels/1"           /* node labels, since 0.3 */
typedef struct cage_label_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void    *host_data;
  cage_status (*label)(struct cage_label_sink *, cage_str name, cage_str value); /* "example.com/
                                      driver", a label value. Not OK: left out and logged; go on */
} cage_label_sink;
/* collect: reports every label that the node should have, each time; follows each discover(). The
 * host writes them for Node Feature Discovery, and removes them with the module. */
typedef struct cage_labels {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*collect)(cage_instance *, const cage_call *, cage_label_sink *);
} cage_labels;

#define CAGE_EXT_CATALOGUE "cage.catalogue/1"     /* entries that claims may name, since 0.3 */
enum { CAGE_ENTRY_REFUSED = 1u << 0 };  /* claims cannot name it; `detail` says why */
typedef struct cage_catalogue_entry {
  uint32_t struct_size;
  uint32_t flags;
  cage_str kind;                   /* "bitstream", a DNS label */
  cage_str name;                   /* used in claim parameters; one line, at most 253 bytes */
  cage_str detail;                 /* for people: a description, or why claims cannot name it:
                                      subject, cause, remedy; at most 1024 bytes */
  const cage_attr *attrs;          /* as those of devices */
  uint32_t attr_count;
  uint32_t reserved;
} cage_catalogue_entry;
typedef struct cage_catalogue_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void    *host_data;
  cage_status (*entry)(struct cage_catalogue_sink *, const cage_catalogue_entry *); /* not OK: left
                                      out and logged; go on */
} cage_catalogue_sink;
/* collect: reports every entry, each time, when an operator asks; responds within seconds. [R22] */
typedef struct cage_catalogue {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*collect)(cage_instance *, const cage_call *, cage_catalogue_sink *);
} cage_catalogue;

#define CAGE_EXT_WATCH "cage.watch/1"             /* sleep until something happens, since 0.3 */
enum { CAGE_EVENT_KERNEL_LOG = 1, CAGE_EVENT_UEVENT = 2, CAGE_EVENT_DESCRIPTOR = 3 };
typedef struct cage_event {
  uint32_t struct_size;
  uint32_t type;
  uint64_t time_ns;                /* when it happened */
  cage_str text;                   /* KERNEL_LOG: the message, "NVRM: Xid (PCI:0000:3b:00): 79".
                                      UEVENT: lines, "ACTION=change\nDEVPATH=/devices/...\n..." */
  int32_t  descriptor;             /* DESCRIPTOR: which one; others: -1 */
  uint32_t reserved;
} cage_event;
enum { CAGE_EVENTS_LOST = 1u << 0 };  /* some before these were dropped: check the hardware */
/* events: the events since the last call, oldest first, with flags. There may be none, just
 * flags. The daemon watches for all modules, so that they need no privilege. [R20] */
typedef struct cage_watch {        /* static const storage in the module */
  uint32_t struct_size;
  uint32_t reserved;
  const cage_str *kernel_log;      /* beginnings of kernel messages: "NVRM: Xid"; at most 32 */
  const cage_str *uevents;         /* subsystems: "pci"; at most 32 */
  uint32_t kernel_log_count;
  uint32_t uevent_count;
  cage_status (*events)(cage_instance *, const cage_call *, const cage_event *const *events,
                        uint32_t count, uint32_t flags);
} cage_watch;

#define CAGE_EXT_RECONCILE "cage.reconcile/1"     /* after a start: free what no claim holds */
typedef struct cage_reconcile {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*keep)(cage_instance *, const cage_call *, const cage_claim *const *live,
                      uint32_t live_count);
} cage_reconcile;

#define CAGE_SNAPSHOT_COUNTERS "cage.snapshot.counters/1"  /* partitions: shared counters */
typedef struct cage_snapshot_counters {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*set)(cage_snapshot *, cage_str set_name, const cage_quantity *, uint32_t count);
  cage_status (*consumes)(cage_snapshot *, cage_str device_id, cage_str set_name,
                          const cage_quantity *, uint32_t count);
} cage_snapshot_counters;

#define CAGE_SNAPSHOT_POLICY "cage.snapshot.policy/1"  /* amounts of a shared device, since 0.3 */
/* The amounts of one capacity of a device with CAGE_DEVICE_SHARED that claims may consume (KEP-5075).
 * The names in the quantities are ignored. Some fractions need DRAFractionalCapacityRange (1.37). */
typedef struct cage_request_policy {
  uint32_t struct_size;
  uint32_t value_count;
  const cage_quantity *default_amount;  /* for requests without an amount; never NULL */
  const cage_quantity *values;     /* the only amounts, ascending, at most 10: a request consumes
                                      the first one that is enough */
  const cage_quantity *min, *max, *step;  /* or a range: a request consumes min and as many steps as
                                      it needs, at most max. NULL = none; max and step need min */
} cage_request_policy;
/* set: before or after device(), once for each capacity that has a policy. Without one a request
 * consumes the amount that it names, or the whole capacity. The host leaves out a device with a
 * policy that Kubernetes would refuse, and logs why. cage_alloc.consumed is the claim's share. */
typedef struct cage_snapshot_policy {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*set)(cage_snapshot *, cage_str device_id, cage_str capacity,
                     const cage_request_policy *);
} cage_snapshot_policy;

#define CAGE_SNAPSHOT_BINDING "cage.snapshot.binding/1"  /* devices to be made ready, since 0.3 */
enum { CAGE_BINDING_TO_NODE = 1u << 0 };  /* the claim stays on the node that was chosen for it */
typedef struct cage_binding {
  uint32_t struct_size;
  uint32_t flags;                  /* CAGE_BINDING_* */
  const cage_str *conditions;      /* types: all must be TRUE before a pod gets the device */
  const cage_str *failures;        /* types: if one is TRUE, the pod gets another device */
  uint32_t condition_count;        /* 1 to 4 of each; no type comes twice */
  uint32_t failure_count;
} cage_binding;
/* set: before or after device(); needs cage.bind. The scheduler allocates the device, but lets the
 * pod wait for these conditions (KEP-5007). Without the call a device is ready at once. */
typedef struct cage_snapshot_binding {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*set)(cage_snapshot *, cage_str device_id, const cage_binding *);
} cage_snapshot_binding;

#define CAGE_SNAPSHOT_NOT_OFFERED "cage.snapshot.not_offered/1"  /* hardware left out, since 0.3 */
/* add: hardware that discover() found and does not list as a device: its name for people
 * ("0000:3b:00.0", "eth0"; at most 63 bytes) and why ("it has the node's default route"; at most
 * 1024 bytes), neither empty. At most 256 in a snapshot. Operators see them in 'cagectl devices
 * --not-offered', and the host logs each new reason, so the module need not. */
typedef struct cage_snapshot_not_offered {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*add)(cage_snapshot *, cage_str name, cage_str reason);
} cage_snapshot_not_offered;

enum { CAGE_CONDITION_FALSE = 0, CAGE_CONDITION_TRUE = 1, CAGE_CONDITION_UNKNOWN = 2 };
typedef struct cage_condition {    /* for a claim's device, since 0.3; the host adds times */
  uint32_t struct_size;
  uint32_t status;                 /* CAGE_CONDITION_* */
  cage_str type;                   /* "Ready", "example.com/Attached"; at most 8 per device */
  cage_str reason;                 /* CamelCase token, never empty */
  cage_str message;                /* for people; at most 1024 bytes */
} cage_condition;

#define CAGE_EXT_BIND "cage.bind/1"               /* make devices ready for a claim, since 0.3 */
typedef struct cage_bind_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void    *host_data;
  cage_status (*condition)(struct cage_bind_sink *, int32_t alloc, const cage_condition *);
} cage_bind_sink;
/* bind: a pod waits for devices of this claim that have binding conditions. Begins or continues to
 * make them ready, and states the status of each condition. The claim is as in prepare().
 * The host repeats the call every few seconds, and after a restart, until all conditions are TRUE
 * or a failure is; if no pod waits any more, it calls unprepare() [R25]. */
typedef struct cage_bind {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*bind)(cage_instance *, const cage_call *, const cage_claim *, cage_bind_sink *);
} cage_bind;

#define CAGE_EXT_SANDBOX "cage.sandbox/1"         /* devices that enter a pod's network, since 0.3 */
typedef struct cage_pod {          /* a pod whose sandbox exists */
  uint32_t struct_size;
  int32_t  network_namespace;      /* a descriptor of its network namespace, never that of the node */
  int32_t  route_socket;           /* a NETLINK_ROUTE socket in there, for modules that may not call
                                      setns(2). Both are open during the call: duplicate them */
  uint32_t reserved;
  cage_str uid, name_space, name;
} cage_pod;
/* attach: the claim is prepared, and a pod that it is reserved for has its sandbox: moves the devices
 * into it. Repeated for each container, at their restarts, and after failures. No container of
 * the pod that uses the claim starts before it has returned OK; runtimes wait for 2 s at most.
 * detach: the pod and then its sandbox end: takes the devices back. The host cannot call it for
 * every pod: unprepare(), which follows, finds the missing devices [R28].
 * The device-plugin API has neither: a CNI plugin moves the device to the pod. */
typedef struct cage_sandbox {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*attach)(cage_instance *, const cage_call *, const cage_claim *, const cage_pod *);
  cage_status (*detach)(cage_instance *, const cage_call *, const cage_claim *, const cage_pod *);
} cage_sandbox;

#define CAGE_HOST_EXEC "cage.exec/1"  /* cage_host, since 0.3: runs a program of the node */
typedef struct cage_command {
  uint32_t struct_size;
  uint32_t timeout_ms;             /* 0 = until the deadline of the call */
  cage_str program;                /* "nvidia-smi": the name of a file whose path is in the key
                                      `programs` of the module's configuration */
  const cage_str *args; const cage_str *env; uint32_t arg_count; uint32_t env_count;
                                   /* without the name; "NAME=value", all but PATH, which the host
                                      sets. At most 1024 each, 128 KiB together */
  cage_bytes input;                /* its standard input, within these 128 KiB */
} cage_command;
enum { CAGE_COMMAND_TIMED_OUT = 1u << 0,  /* it was killed */
       CAGE_COMMAND_CUT = 1u << 1 };      /* `out` or `err` was longer than 1 MiB */
typedef struct cage_command_result {
  uint32_t struct_size;
  uint32_t flags;
  int32_t  exit_status;            /* -1 if a signal ended it */
  int32_t  signal;                 /* 0 if none */
  cage_bytes out, err;             /* its printed output */
} cage_command_result;
typedef void (*cage_command_ended)(void *user, const cage_command_result *);
/* run: blocks until the program has ended. OK if it has, whatever its status; `ended` was then
 * called once on this thread, with `user`. Otherwise the host has explained why, and it may have
 * run. The daemon runs it with its own rights and no other descriptor; when it ends, at the limit or
 * with the instance, what is left of it is killed. On the thread of `call` only. */
typedef struct cage_exec {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*run)(const cage_host *, const cage_call *, const cage_command *, void *user,
                     cage_command_ended ended);
} cage_exec;

#define CAGE_HOST_SERVICE "cage.service/1"  /* cage_host, since 0.3: a claim's helper daemon */
/* Both block, and belong to the claim of `call`. OK = done; otherwise the host has explained why.
 * start: the daemon runs the command, without timeout_ms and input, as cage_exec does, but until the
 *   claim is released: it outlives this process and the daemon, is started again if it exits, and what it
 *   prints goes to the log. It stays in the foreground. If the service runs already with the same
 *   command, nothing happens; with another one, it ends first. `name` is a DNS label.
 * stop: SIGTERM to the program, SIGKILL to all that is left after 5 s. OK if there is none. After
 *   unprepare(), the host stops every service of the claim [R21]. */
typedef struct cage_service {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*start)(const cage_host *, const cage_call *, cage_str name, const cage_command *);
  cage_status (*stop)(const cage_host *, const cage_call *, cage_str name);
} cage_service;

#define CAGE_HOST_WRITE "cage.write/1"  /* cage_host, since 0.3: writes that may block */
typedef struct cage_file_write {   /* a file of sysfs or procfs: "reset", "sriov_numvfs" */
  uint32_t struct_size;
  uint32_t timeout_ms;             /* 0 = until the deadline of the call */
  cage_str device_id;              /* the device that the hardware belongs to */
  cage_str path;                   /* must match the key `writes` of the module's configuration */
  cage_bytes data;                 /* at most 4096 bytes, in one write(2) */
} cage_file_write;
typedef struct cage_ioctl {        /* an ioctl(2) of a device node */
  uint32_t struct_size;
  uint32_t timeout_ms;             /* 0 = until the deadline of the call */
  cage_str device_id;              /* the device that the hardware belongs to */
  cage_str path;                   /* must match the key `writes` of the module's configuration */
  uint64_t request;
  void    *argument;               /* the request's argument, read and written back */
  uint32_t argument_size;          /* at most 4096 bytes */
  uint32_t data_offset;            /* if data_path is not empty: where in the argument the address
                                      of that file's bytes goes, 8 bytes */
  cage_str data_path;              /* a file to map, such as a bitstream; empty = none */
  cage_str data_sha256;            /* hash of the whole file, 64 digits as sha256sum prints it: the
                                      host copies the file, checks the copy, and passes the copy. The
                                      file belongs to root or to the host's user, who alone may
                                      write it, and is not a link; at most 1 GiB. Empty = unchecked */
  uint64_t data_start;             /* the address is that of this byte of the file: a header for
                                      the module may come before it */
  uint32_t flags;
  uint32_t reserved;
} cage_ioctl;
enum { CAGE_IOCTL_EXCLUSIVE = 1u << 0 };  /* opens the node with O_EXCL: drivers that know it, such
                                             as DFL, refuse if another process has it open, and
                                             the call fails with FAILED_PRECONDITION */
/* Each blocks until a process of the daemon's own has done it, or until the limit: then the device
 * is stuck in it, and writes and prepare() for the device fail until it ends [R18]. OK = done;
 * otherwise the host has explained why. DATA_LOSS = the file at data_path lacks its SHA-256, and
 * the device was not opened. On the thread of `call` only. */
typedef struct cage_write {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*file)(const cage_host *, const cage_call *, const cage_file_write *);
  cage_status (*ioctl)(const cage_host *, const cage_call *, const cage_ioctl *);
  /* driver: binds the PCI function to the driver, "none" to no driver; empty = the one before the
   * first such call: the host remembers it till then, over restarts of this process and its own. */
  cage_status (*driver)(const cage_host *, const cage_call *, cage_str device_id,
                        cage_str pci_bus_id, cage_str driver);
} cage_write;

#define CAGE_HOST_POLL "cage.poll/1"  /* cage_host, since 0.3: waits for descriptors */
/* add: once the descriptor is readable, has an error or hung up, events() of cage.watch, which the
 * module needs, gets one DESCRIPTOR event; it is watched again when that call has returned. At most
 * 64. The module keeps the descriptor, and closes it after remove() only. [any-thread] */
typedef struct cage_poll {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*add)(const cage_host *, int32_t descriptor);
  cage_status (*remove)(const cage_host *, int32_t descriptor);
} cage_poll;

#define CAGE_EDITS_JOURNAL "cage.edits.journal/1"  /* cage_edits, since 0.3 */
/* write: keeps the bytes, at most 64 KiB, for the next prepare() or unprepare() of the claim, which
 * gets them as cage_claim.journal even if this process or the daemon dies in between, but not after
 * a reboot [R7]. The last call counts. Blocks briefly. On the thread of the prepare() only. */
typedef struct cage_journal {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*write)(cage_edits *, cage_bytes blob);
} cage_journal;

#define CAGE_EDITS_STATUS "cage.edits.status/1"  /* cage_edits: status for users, since 0.3 */
typedef struct cage_network_data {
  uint32_t struct_size;
  uint32_t ip_count;
  cage_str interface_name;         /* in the pod; at most 256 bytes */
  cage_str hardware_address;       /* at most 128 bytes */
  const cage_str *ips;             /* with the length of the prefix, "10.1.2.3/24"; at most 16 */
} cage_network_data;
/* The entry of a device in ResourceClaim.status.devices (KEP-4817). The host writes it after
 * prepare(), which does not wait for it, and removes it after unprepare(). `alloc` is an index. The
 * last call counts, for condition() that of each type. data: a JSON object of at most 10 KiB. With
 * the device-plugin API no claim can show it. */
typedef struct cage_device_status {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*condition)(cage_edits *, int32_t alloc, const cage_condition *);
  cage_status (*data)(cage_edits *, int32_t alloc, cage_str json);
  cage_status (*network)(cage_edits *, int32_t alloc, const cage_network_data *);
} cage_device_status;

#define CAGE_EDITS_METADATA "cage.edits.metadata/1"  /* cage_edits: files, since 0.3 */
/* describe: containers with the device get a file that describes it (KEP-5304): the attributes that
 * discover() reported and those of the host, these ones, which replace others of the same name, and
 * the network data of cage.edits.status. `alloc` is an index; the last call counts. With the
 * device-plugin API there is no such file. */
typedef struct cage_device_metadata {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*describe)(cage_edits *, int32_t alloc, const cage_attr *attrs, uint32_t count);
} cage_device_metadata;

#ifdef __cplusplus
}
#endif
#endif /* CARDCAGE_FAMILIES_H_ */
