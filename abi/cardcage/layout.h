/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes and offsets of module ABI 1.0, asserted in every build of a module. Structs may grow at their
 * end [R2], leaf types may not; drafts are left out. Made once by `tests/abi/layout.py --freeze`. */
#ifndef CARDCAGE_LAYOUT_H_
#define CARDCAGE_LAYOUT_H_
#ifndef CARDCAGE_MODULE_H_
#include "module.h"
#endif
#define CAGE_FIXED(type, bytes) typedef char cage_fixed_##type[sizeof(type) == (bytes) ? 1 : -1]
#define CAGE_SIZE(type, bytes) typedef char cage_size_##type[sizeof(type) >= (bytes) ? 1 : -1]
#define CAGE_AT(type, member, bytes) \
  typedef char cage_at_##type##_##member[offsetof(type, member) == (bytes) ? 1 : -1]

CAGE_SIZE(cage_alloc, 80); CAGE_AT(cage_alloc, struct_size, 0); CAGE_AT(cage_alloc, flags, 4);
  CAGE_AT(cage_alloc, device_id, 8); CAGE_AT(cage_alloc, request, 24); CAGE_AT(cage_alloc, share_id, 40);
  CAGE_AT(cage_alloc, consumed, 56); CAGE_AT(cage_alloc, consumed_count, 64); CAGE_AT(cage_alloc, values, 72);
CAGE_FIXED(cage_attr, 40); CAGE_AT(cage_attr, name, 0); CAGE_AT(cage_attr, type, 16); CAGE_AT(cage_attr, count, 20);
  CAGE_AT(cage_attr, v, 24);
CAGE_FIXED(cage_bytes, 16); CAGE_AT(cage_bytes, data, 0); CAGE_AT(cage_bytes, size, 8);
CAGE_SIZE(cage_call, 80); CAGE_AT(cage_call, struct_size, 0); CAGE_AT(cage_call, attempt, 4);
  CAGE_AT(cage_call, host_data, 8); CAGE_AT(cage_call, id, 16); CAGE_AT(cage_call, deadline_ns, 32);
  CAGE_AT(cage_call, cancel_fd, 40); CAGE_AT(cage_call, cancelled, 48); CAGE_AT(cage_call, explain, 56);
  CAGE_AT(cage_call, progress, 64); CAGE_AT(cage_call, explained, 72);
CAGE_SIZE(cage_catalogue, 16); CAGE_AT(cage_catalogue, struct_size, 0); CAGE_AT(cage_catalogue, collect, 8);
CAGE_SIZE(cage_catalogue_entry, 72); CAGE_AT(cage_catalogue_entry, struct_size, 0);
  CAGE_AT(cage_catalogue_entry, flags, 4); CAGE_AT(cage_catalogue_entry, kind, 8);
  CAGE_AT(cage_catalogue_entry, name, 24); CAGE_AT(cage_catalogue_entry, detail, 40);
  CAGE_AT(cage_catalogue_entry, attrs, 56); CAGE_AT(cage_catalogue_entry, attr_count, 64);
CAGE_SIZE(cage_catalogue_sink, 24); CAGE_AT(cage_catalogue_sink, struct_size, 0);
  CAGE_AT(cage_catalogue_sink, host_data, 8); CAGE_AT(cage_catalogue_sink, entry, 16);
CAGE_SIZE(cage_cause, 136); CAGE_AT(cage_cause, struct_size, 0); CAGE_AT(cage_cause, flags, 4);
  CAGE_AT(cage_cause, name, 8); CAGE_AT(cage_cause, help, 24); CAGE_AT(cage_cause, unit, 40);
  CAGE_AT(cage_cause, limit, 56); CAGE_AT(cage_cause, clear_limit, 64); CAGE_AT(cage_cause, severity, 72);
  CAGE_AT(cage_cause, hold_down_s, 76); CAGE_AT(cage_cause, recovery, 80); CAGE_AT(cage_cause, recovery_s, 84);
  CAGE_AT(cage_cause, relapses, 88); CAGE_AT(cage_cause, window_s, 92); CAGE_AT(cage_cause, taint, 96);
  CAGE_AT(cage_cause, taint_key, 104); CAGE_AT(cage_cause, taint_value, 120);
CAGE_SIZE(cage_claim, 136); CAGE_AT(cage_claim, struct_size, 0); CAGE_AT(cage_claim, state_version, 4);
  CAGE_AT(cage_claim, uid, 8); CAGE_AT(cage_claim, name_space, 24); CAGE_AT(cage_claim, name, 40);
  CAGE_AT(cage_claim, allocs, 56); CAGE_AT(cage_claim, alloc_count, 64); CAGE_AT(cage_claim, flags, 68);
  CAGE_AT(cage_claim, params, 72); CAGE_AT(cage_claim, params_count, 80); CAGE_AT(cage_claim, state, 88);
  CAGE_AT(cage_claim, journal, 104); CAGE_AT(cage_claim, resource, 120);
CAGE_SIZE(cage_command, 64); CAGE_AT(cage_command, struct_size, 0); CAGE_AT(cage_command, timeout_ms, 4);
  CAGE_AT(cage_command, program, 8); CAGE_AT(cage_command, args, 24); CAGE_AT(cage_command, env, 32);
  CAGE_AT(cage_command, arg_count, 40); CAGE_AT(cage_command, env_count, 44); CAGE_AT(cage_command, input, 48);
CAGE_SIZE(cage_command_result, 48); CAGE_AT(cage_command_result, struct_size, 0);
  CAGE_AT(cage_command_result, flags, 4); CAGE_AT(cage_command_result, exit_status, 8);
  CAGE_AT(cage_command_result, signal, 12); CAGE_AT(cage_command_result, out, 16);
  CAGE_AT(cage_command_result, err, 32);
CAGE_SIZE(cage_condition, 56); CAGE_AT(cage_condition, struct_size, 0); CAGE_AT(cage_condition, status, 4);
  CAGE_AT(cage_condition, type, 8); CAGE_AT(cage_condition, reason, 24); CAGE_AT(cage_condition, message, 40);
CAGE_SIZE(cage_configure, 16); CAGE_AT(cage_configure, struct_size, 0); CAGE_AT(cage_configure, configure, 8);
CAGE_SIZE(cage_device, 144); CAGE_AT(cage_device, struct_size, 0); CAGE_AT(cage_device, flags, 4);
  CAGE_AT(cage_device, id, 8); CAGE_AT(cage_device, kind, 24); CAGE_AT(cage_device, parent_id, 40);
  CAGE_AT(cage_device, pci_bus_id, 56); CAGE_AT(cage_device, numa_nodes, 72); CAGE_AT(cage_device, numa_count, 80);
  CAGE_AT(cage_device, attrs, 88); CAGE_AT(cage_device, attr_count, 96); CAGE_AT(cage_device, capacity, 104);
  CAGE_AT(cage_device, capacity_count, 112); CAGE_AT(cage_device, health, 120); CAGE_AT(cage_device, name, 128);
CAGE_SIZE(cage_device_node, 104); CAGE_AT(cage_device_node, struct_size, 0); CAGE_AT(cage_device_node, mode, 4);
  CAGE_AT(cage_device_node, path, 8); CAGE_AT(cage_device_node, host_path, 24);
  CAGE_AT(cage_device_node, permissions, 40); CAGE_AT(cage_device_node, type, 56);
  CAGE_AT(cage_device_node, major, 72); CAGE_AT(cage_device_node, minor, 80); CAGE_AT(cage_device_node, uid, 88);
  CAGE_AT(cage_device_node, gid, 96);
CAGE_SIZE(cage_edits, 112); CAGE_AT(cage_edits, struct_size, 0); CAGE_AT(cage_edits, host_data, 8);
  CAGE_AT(cage_edits, env, 16); CAGE_AT(cage_edits, device_node, 24); CAGE_AT(cage_edits, mount, 32);
  CAGE_AT(cage_edits, hook, 40); CAGE_AT(cage_edits, net_device, 48); CAGE_AT(cage_edits, group, 56);
  CAGE_AT(cage_edits, state, 64); CAGE_AT(cage_edits, extension, 72); CAGE_AT(cage_edits, env_list, 80);
  CAGE_AT(cage_edits, locked_memory, 88); CAGE_AT(cage_edits, ld_path, 96); CAGE_AT(cage_edits, proc_text, 104);
CAGE_SIZE(cage_edits_journal, 16); CAGE_AT(cage_edits_journal, struct_size, 0); CAGE_AT(cage_edits_journal, write, 8);
CAGE_SIZE(cage_edits_metadata, 16); CAGE_AT(cage_edits_metadata, struct_size, 0);
  CAGE_AT(cage_edits_metadata, describe, 8);
CAGE_SIZE(cage_edits_status, 32); CAGE_AT(cage_edits_status, struct_size, 0);
  CAGE_AT(cage_edits_status, condition, 8); CAGE_AT(cage_edits_status, data, 16);
  CAGE_AT(cage_edits_status, network, 24);
CAGE_SIZE(cage_event, 40); CAGE_AT(cage_event, struct_size, 0); CAGE_AT(cage_event, type, 4);
  CAGE_AT(cage_event, time_ns, 8); CAGE_AT(cage_event, text, 16); CAGE_AT(cage_event, descriptor, 32);
CAGE_SIZE(cage_exec, 16); CAGE_AT(cage_exec, struct_size, 0); CAGE_AT(cage_exec, run, 8);
CAGE_SIZE(cage_file_write, 56); CAGE_AT(cage_file_write, struct_size, 0); CAGE_AT(cage_file_write, timeout_ms, 4);
  CAGE_AT(cage_file_write, device_id, 8); CAGE_AT(cage_file_write, path, 24); CAGE_AT(cage_file_write, data, 40);
CAGE_SIZE(cage_health, 128); CAGE_AT(cage_health, struct_size, 0); CAGE_AT(cage_health, state, 4);
  CAGE_AT(cage_health, device_id, 8); CAGE_AT(cage_health, reason, 24); CAGE_AT(cage_health, message, 40);
  CAGE_AT(cage_health, timeout_s, 56); CAGE_AT(cage_health, taint, 60); CAGE_AT(cage_health, cause, 64);
  CAGE_AT(cage_health, taint_key, 80); CAGE_AT(cage_health, taint_value, 96); CAGE_AT(cage_health, value, 112);
  CAGE_AT(cage_health, has_value, 120);
CAGE_SIZE(cage_hook, 64); CAGE_AT(cage_hook, struct_size, 0); CAGE_AT(cage_hook, timeout_s, 4);
  CAGE_AT(cage_hook, name, 8); CAGE_AT(cage_hook, path, 24); CAGE_AT(cage_hook, args, 40);
  CAGE_AT(cage_hook, env, 48); CAGE_AT(cage_hook, arg_count, 56); CAGE_AT(cage_hook, env_count, 60);
CAGE_SIZE(cage_host, 136); CAGE_AT(cage_host, struct_size, 0); CAGE_AT(cage_host, abi_minor, 4);
  CAGE_AT(cage_host, host_data, 8); CAGE_AT(cage_host, version, 16); CAGE_AT(cage_host, log_enabled, 32);
  CAGE_AT(cage_host, log, 40); CAGE_AT(cage_host, rescan, 48); CAGE_AT(cage_host, health, 56);
  CAGE_AT(cage_host, extension, 64); CAGE_AT(cage_host, sysfs, 72); CAGE_AT(cage_host, procfs, 88);
  CAGE_AT(cage_host, devfs, 104); CAGE_AT(cage_host, driver_root, 120);
CAGE_SIZE(cage_id_sink, 24); CAGE_AT(cage_id_sink, struct_size, 0); CAGE_AT(cage_id_sink, host_data, 8);
  CAGE_AT(cage_id_sink, id, 16);
CAGE_SIZE(cage_ioctl, 112); CAGE_AT(cage_ioctl, struct_size, 0); CAGE_AT(cage_ioctl, timeout_ms, 4);
  CAGE_AT(cage_ioctl, device_id, 8); CAGE_AT(cage_ioctl, path, 24); CAGE_AT(cage_ioctl, request, 40);
  CAGE_AT(cage_ioctl, argument, 48); CAGE_AT(cage_ioctl, argument_size, 56); CAGE_AT(cage_ioctl, data_offset, 60);
  CAGE_AT(cage_ioctl, data_path, 64); CAGE_AT(cage_ioctl, data_sha256, 80); CAGE_AT(cage_ioctl, data_start, 96);
  CAGE_AT(cage_ioctl, flags, 104);
CAGE_SIZE(cage_label_sink, 24); CAGE_AT(cage_label_sink, struct_size, 0); CAGE_AT(cage_label_sink, host_data, 8);
  CAGE_AT(cage_label_sink, label, 16);
CAGE_SIZE(cage_labels, 16); CAGE_AT(cage_labels, struct_size, 0); CAGE_AT(cage_labels, collect, 8);
CAGE_SIZE(cage_metric, 56); CAGE_AT(cage_metric, struct_size, 0); CAGE_AT(cage_metric, type, 4);
  CAGE_AT(cage_metric, name, 8); CAGE_AT(cage_metric, help, 24); CAGE_AT(cage_metric, labels, 40);
  CAGE_AT(cage_metric, label_count, 48);
CAGE_SIZE(cage_metrics, 24); CAGE_AT(cage_metrics, struct_size, 0); CAGE_AT(cage_metrics, metric_count, 4);
  CAGE_AT(cage_metrics, metrics, 8); CAGE_AT(cage_metrics, collect, 16);
CAGE_SIZE(cage_metrics_sink, 24); CAGE_AT(cage_metrics_sink, struct_size, 0);
  CAGE_AT(cage_metrics_sink, host_data, 8); CAGE_AT(cage_metrics_sink, sample, 16);
CAGE_SIZE(cage_module, 216); CAGE_AT(cage_module, magic, 0); CAGE_AT(cage_module, struct_size, 4);
  CAGE_AT(cage_module, abi_minor, 8); CAGE_AT(cage_module, min_host_minor, 12); CAGE_AT(cage_module, flags, 16);
  CAGE_AT(cage_module, state_version, 20); CAGE_AT(cage_module, id, 24); CAGE_AT(cage_module, version, 40);
  CAGE_AT(cage_module, vendor, 56); CAGE_AT(cage_module, options, 72); CAGE_AT(cage_module, schemas, 80);
  CAGE_AT(cage_module, causes, 88); CAGE_AT(cage_module, needs, 96); CAGE_AT(cage_module, option_count, 104);
  CAGE_AT(cage_module, schema_count, 108); CAGE_AT(cage_module, cause_count, 112);
  CAGE_AT(cage_module, need_count, 116); CAGE_AT(cage_module, claim_call_limit_s, 120);
  CAGE_AT(cage_module, create, 128); CAGE_AT(cage_module, start, 136); CAGE_AT(cage_module, discover, 144);
  CAGE_AT(cage_module, prepare, 152); CAGE_AT(cage_module, unprepare, 160); CAGE_AT(cage_module, check, 168);
  CAGE_AT(cage_module, quiesce, 176); CAGE_AT(cage_module, resume, 184); CAGE_AT(cage_module, stop, 192);
  CAGE_AT(cage_module, destroy, 200); CAGE_AT(cage_module, extension, 208);
CAGE_SIZE(cage_mount, 64); CAGE_AT(cage_mount, struct_size, 0); CAGE_AT(cage_mount, option_count, 4);
  CAGE_AT(cage_mount, host_path, 8); CAGE_AT(cage_mount, container_path, 24); CAGE_AT(cage_mount, type, 40);
  CAGE_AT(cage_mount, options, 56);
CAGE_SIZE(cage_net_device, 40); CAGE_AT(cage_net_device, struct_size, 0); CAGE_AT(cage_net_device, host_interface, 8);
  CAGE_AT(cage_net_device, name, 24);
CAGE_SIZE(cage_network_data, 48); CAGE_AT(cage_network_data, struct_size, 0); CAGE_AT(cage_network_data, ip_count, 4);
  CAGE_AT(cage_network_data, interface_name, 8); CAGE_AT(cage_network_data, hardware_address, 24);
  CAGE_AT(cage_network_data, ips, 40);
CAGE_SIZE(cage_option, 88); CAGE_AT(cage_option, struct_size, 0); CAGE_AT(cage_option, type, 4);
  CAGE_AT(cage_option, flags, 8); CAGE_AT(cage_option, choice_count, 12); CAGE_AT(cage_option, name, 16);
  CAGE_AT(cage_option, default_text, 32); CAGE_AT(cage_option, help, 48); CAGE_AT(cage_option, choices, 64);
  CAGE_AT(cage_option, min, 72); CAGE_AT(cage_option, max, 80);
CAGE_SIZE(cage_params, 40); CAGE_AT(cage_params, struct_size, 0); CAGE_AT(cage_params, source, 4);
  CAGE_AT(cage_params, json, 8); CAGE_AT(cage_params, requests, 24); CAGE_AT(cage_params, request_count, 32);
CAGE_SIZE(cage_params_schema, 64); CAGE_AT(cage_params_schema, struct_size, 0);
  CAGE_AT(cage_params_schema, field_count, 4); CAGE_AT(cage_params_schema, api_version, 8);
  CAGE_AT(cage_params_schema, kind, 24); CAGE_AT(cage_params_schema, fields, 40);
  CAGE_AT(cage_params_schema, device_kinds, 48); CAGE_AT(cage_params_schema, device_kind_count, 56);
  CAGE_AT(cage_params_schema, flags, 60);
CAGE_SIZE(cage_poll, 24); CAGE_AT(cage_poll, struct_size, 0); CAGE_AT(cage_poll, add, 8);
  CAGE_AT(cage_poll, remove, 16);
CAGE_SIZE(cage_pre_start, 16); CAGE_AT(cage_pre_start, struct_size, 0); CAGE_AT(cage_pre_start, pre_start, 8);
CAGE_SIZE(cage_preferred, 16); CAGE_AT(cage_preferred, struct_size, 0); CAGE_AT(cage_preferred, choose, 8);
CAGE_FIXED(cage_quantity, 32); CAGE_AT(cage_quantity, name, 0); CAGE_AT(cage_quantity, value, 16);
  CAGE_AT(cage_quantity, exp10, 24); CAGE_AT(cage_quantity, format, 28);
CAGE_SIZE(cage_quiesce, 24); CAGE_AT(cage_quiesce, struct_size, 0); CAGE_AT(cage_quiesce, quiesce, 8);
  CAGE_AT(cage_quiesce, resume, 16);
CAGE_SIZE(cage_reconcile, 16); CAGE_AT(cage_reconcile, struct_size, 0); CAGE_AT(cage_reconcile, keep, 8);
CAGE_SIZE(cage_request_policy, 48); CAGE_AT(cage_request_policy, struct_size, 0);
  CAGE_AT(cage_request_policy, value_count, 4); CAGE_AT(cage_request_policy, default_amount, 8);
  CAGE_AT(cage_request_policy, values, 16); CAGE_AT(cage_request_policy, min, 24);
  CAGE_AT(cage_request_policy, max, 32); CAGE_AT(cage_request_policy, step, 40);
CAGE_SIZE(cage_reset, 16); CAGE_AT(cage_reset, struct_size, 0); CAGE_AT(cage_reset, reset, 8);
CAGE_SIZE(cage_service, 24); CAGE_AT(cage_service, struct_size, 0); CAGE_AT(cage_service, start, 8);
  CAGE_AT(cage_service, stop, 16);
CAGE_SIZE(cage_snapshot, 32); CAGE_AT(cage_snapshot, struct_size, 0); CAGE_AT(cage_snapshot, host_data, 8);
  CAGE_AT(cage_snapshot, device, 16); CAGE_AT(cage_snapshot, extension, 24);
CAGE_SIZE(cage_snapshot_counters, 24); CAGE_AT(cage_snapshot_counters, struct_size, 0);
  CAGE_AT(cage_snapshot_counters, set, 8); CAGE_AT(cage_snapshot_counters, consumes, 16);
CAGE_SIZE(cage_snapshot_not_offered, 16); CAGE_AT(cage_snapshot_not_offered, struct_size, 0);
  CAGE_AT(cage_snapshot_not_offered, add, 8);
CAGE_SIZE(cage_snapshot_policy, 16); CAGE_AT(cage_snapshot_policy, struct_size, 0);
  CAGE_AT(cage_snapshot_policy, set, 8);
CAGE_FIXED(cage_str, 16); CAGE_AT(cage_str, data, 0); CAGE_AT(cage_str, size, 8);
CAGE_SIZE(cage_values, 88); CAGE_AT(cage_values, struct_size, 0); CAGE_AT(cage_values, host_data, 8);
  CAGE_AT(cage_values, integer, 16); CAGE_AT(cage_values, boolean, 24); CAGE_AT(cage_values, string, 32);
  CAGE_AT(cage_values, list, 40); CAGE_AT(cage_values, given, 48); CAGE_AT(cage_values, map, 56);
  CAGE_AT(cage_values, source, 64); CAGE_AT(cage_values, params_kind, 72);
CAGE_SIZE(cage_watch, 40); CAGE_AT(cage_watch, struct_size, 0); CAGE_AT(cage_watch, kernel_log, 8);
  CAGE_AT(cage_watch, uevents, 16); CAGE_AT(cage_watch, kernel_log_count, 24); CAGE_AT(cage_watch, uevent_count, 28);
  CAGE_AT(cage_watch, events, 32);
CAGE_SIZE(cage_write, 32); CAGE_AT(cage_write, struct_size, 0); CAGE_AT(cage_write, file, 8);
  CAGE_AT(cage_write, ioctl, 16); CAGE_AT(cage_write, driver, 24);

#undef CAGE_FIXED
#undef CAGE_SIZE
#undef CAGE_AT
#endif /* CARDCAGE_LAYOUT_H_ */
