{{- /*
Copies `over` into a copy of `base`, and returns JSON. Maps are merged and null
removes a key, as in Helm; everything else is replaced, also by false or an empty list.
*/}}
{{- define "cardcage.merge" -}}
{{- $result := deepCopy .base }}
{{- range $key, $value := .over }}
{{- if and (kindIs "map" $value) (kindIs "map" (get $result $key)) }}
{{- $_ := set $result $key (include "cardcage.merge" (dict "base" (get $result $key) "over" $value) | fromJson) }}
{{- else if kindIs "invalid" $value }}
{{- $_ := unset $result $key }}
{{- else }}
{{- $_ := set $result $key $value }}
{{- end }}
{{- end }}
{{- $result | toJson }}
{{- end }}

{{- /*
The groups of nodes, each with a DaemonSet of its own: {"groups": [{"name", "profile", "values", "modules", "lease"}]}. Without
profiles there is one group. `values` are those of the chart with the overrides of the profile.
*/}}
{{- define "cardcage.groups" -}}
{{- $root := . }}
{{- $fullname := include "cardcage.fullname" . }}
{{- $base := omit .Values "profiles" }}
{{- $groups := list }}
{{- range .Values.profiles }}
{{- $values := include "cardcage.merge" (dict "base" $base "over" (default dict .overrides)) | fromJson }}
{{- $selector := include "cardcage.merge" (dict "base" $values.nodeSelector "over" (default dict .nodeSelector)) | fromJson }}
{{- $_ := set $values "nodeSelector" $selector }}
{{- $groups = append $groups (dict "name" (printf "%s-%s" $fullname .name) "profile" .name "values" $values) }}
{{- else }}
{{- $groups = list (dict "name" $fullname "profile" "" "values" $base) }}
{{- end }}
{{- range $group := $groups }}
{{- $_ := set . "modules" (include "cardcage.modules" .values | fromJson).modules }}
{{- with include "cardcage.fleet.lease" $root }}{{ $_ := set $group "lease" (printf "%s/%s" $root.Release.Namespace .) }}{{ end }}
{{- end }}
{{- dict "groups" $groups | toJson }}
{{- end }}

{{- /*
The modules of a group: {"modules": [{"name", "path", "values"}]}, with the permissions that each needs unless the values have them.
Expects the values of the group.
*/}}
{{- define "cardcage.modules" -}}
{{- $root := . }}
{{- $modules := list }}
{{- range $name, $given := .modules }}
{{- if $given.enabled }}
{{- $needs := include (printf "cardcage.needs.%s" $name) $root | fromJson }}
{{- $modules = append $modules (dict "name" $name "path" (printf "libcardcage_%s.so" $name) "values"
      (include "cardcage.merge" (dict "base" $needs "over" $given) | fromJson)) }}
{{- end }}
{{- end }}
{{- range .vendorModules }}
{{- $folder := ternary "vendor" .name (default false .onNode) }}
{{- $modules = append $modules (dict "name" .name "path" (printf "%s/%s" $folder (ternary .path (base .path) (default false .onNode))) "values" .) }}
{{- end }}
{{- dict "modules" $modules | toJson }}
{{- end }}

{{- define "cardcage.needs.mock" }}{}{{ end }}
{{- define "cardcage.needs.generic" }}{}{{ end }}

{{- define "cardcage.needs.nvidia" }}
{{- $programs := list (printf "%s/usr/bin/nvidia-smi" (include "cardcage.driverFolder" . | trimSuffix "/")) }}
{{- if .modules.nvidia.mps }}{{ $programs = append $programs "/usr/bin/cardcage-nvidia-mps" }}{{ end }}
{{- dict "programs" $programs | toJson }}
{{- end }}

{{- define "cardcage.needs.imex" }}
{{- dict "programs" (list (printf "%s/usr/bin/nvidia-imex-ctl" (include "cardcage.driverFolder" . | trimSuffix "/"))) | toJson }}
{{- end }}

{{- /* docs/fpga.md says what other cards need. */}}
{{- define "cardcage.needs.fpga" }}
{{- dict "writes" (list "/dev/dfl-fme.*" "/dev/dfl-port.*" "/var/lib/cardcage/bitstreams/*"
      "/sys/bus/pci/devices/*/fpga_region/*/*/errors/*" "/sys/bus/pci/devices/*/fpga_region/*/*/userclk_freqcntrcmd"
      "/sys/bus/pci/devices/*/fpga_region/*/*/*/userclk/frequency" "/sys/bus/pci/drivers/dfl-pci/*bind") | toJson }}
{{- end }}

{{- define "cardcage.needs.nic" }}
{{- dict "writes" (list "/sys/bus/pci/devices/*/driver_override" "/sys/bus/pci/devices/*/reset") | toJson }}
{{- end }}

{{- /* True if the group has helper daemons that keep running while its pod restarts. Expects a group, as the following templates do. */}}
{{- define "cardcage.services" -}}
{{- with .values }}{{ if or .services.enabled (and .modules.nvidia.enabled .modules.nvidia.mps) }}true{{ end }}{{ end }}
{{- end }}

{{- /* True if modules see the processes of the node: to name the process that has a device open, and to end or spare it. */}}
{{- define "cardcage.hostPID" -}}
{{- $leftovers := eq "end" (default "" (get (default dict .values.modules.nvidia.options) "leftover_processes")) }}
{{- if or (include "cardcage.services" .) .values.modules.fpga.enabled (and .values.modules.nvidia.enabled $leftovers) }}true{{ end }}
{{- end }}

{{- /* True if modules move interfaces to pods. */}}
{{- define "cardcage.networkDevices" -}}
{{- if or .values.networkDevices.enabled .values.modules.nic.enabled }}true{{ end }}
{{- end }}

{{- /* The DRA drivers of all groups: {"drivers": [{"name", "module", "values": of the module}]}, each once. */}}
{{- define "cardcage.drivers" -}}
{{- $drivers := list }}
{{- $names := list }}
{{- range (include "cardcage.groups" . | fromJson).groups }}
{{- range $module := .modules }}
{{- range $module.values.drivers }}
{{- if not (has .driver $names) }}
{{- $names = append $names .driver }}
{{- $drivers = append $drivers (dict "name" .driver "module" $module.name "values" $module.values) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- dict "drivers" $drivers | toJson }}
{{- end }}
