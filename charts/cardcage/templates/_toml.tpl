{{- /* A TOML value. Strings of JSON are strings of TOML; whole numbers are written without a point. */}}
{{- define "cardcage.toml.value" -}}
{{- if kindIs "map" . -}}
{ {{- range $index, $key := keys . | sortAlpha }}{{ if $index }},{{ end }} {{ include "cardcage.toml.key" $key }} = {{ include "cardcage.toml.value" (get $ $key) }}{{ end }} }
{{- else if kindIs "slice" . -}}
[{{ range $index, $value := . }}{{ if $index }}, {{ end }}{{ include "cardcage.toml.value" $value }}{{ end }}]
{{- else if kindIs "float64" . -}}
{{ if eq (floor .) . }}{{ printf "%.0f" . }}{{ else }}{{ . }}{{ end }}
{{- else if kindIs "string" . -}}
{{ toRawJson . }}
{{- else -}}
{{ . }}
{{- end }}
{{- end }}

{{- define "cardcage.toml.key" -}}
{{- if regexMatch "^[A-Za-z0-9_-]+$" . }}{{ . }}{{ else }}{{ toRawJson . }}{{ end }}
{{- end }}

{{- /* The lines of a table. */}}
{{- define "cardcage.toml.lines" -}}
{{- range $key, $value := . }}
{{- if not (kindIs "invalid" $value) }}
{{ include "cardcage.toml.key" $key }} = {{ include "cardcage.toml.value" $value }}
{{- end }}
{{- end }}
{{- end }}

{{- define "cardcage.toml.module" -}}
{{- $values := .values }}
{{- $own := list "enabled" "mps" "image" "imagePullPolicy" "onNode" "name" "path" "options" "health" "attributes" "drivers" "resources" }}
[[module]]
name = {{ toRawJson .name }}
path = {{ toRawJson .path }}
{{- range $key := keys $values | sortAlpha }}
{{- $value := get $values $key }}
{{- if not (or (has $key $own) (kindIs "invalid" $value) (and (kindIs "map" $value) (empty $value))) }}
{{ $key }} = {{ include "cardcage.toml.value" $value }}
{{- end }}
{{- end }}
{{- with $values.options }}

[module.options]
{{- include "cardcage.toml.lines" . }}
{{- end }}
{{- range $values.health }}

[[module.health]]
{{- include "cardcage.toml.lines" . }}
{{- end }}
{{- range $values.attributes }}

[[module.attribute]]
{{- include "cardcage.toml.lines" . }}
{{- end }}
{{- range (include "cardcage.rules" $values | fromJson).rules }}

[[module.serve]]
{{- include "cardcage.toml.lines" . }}
{{- end }}
{{- end }}

{{- /* The rules of a module. The first one that matches a device takes it, so those that take every device come last. */}}
{{- define "cardcage.rules" -}}
{{- $narrow := list }}
{{- $wide := list }}
{{- range concat (default list .drivers) (default list .resources) }}
{{- $rule := merge (dict "api" (ternary "device-plugin" "dra" (hasKey . "resource"))) . }}
{{- if .select }}{{ $narrow = append $narrow $rule }}{{ else }}{{ $wide = append $wide (omit $rule "select") }}{{ end }}
{{- end }}
{{- dict "rules" (concat $narrow $wide) | toJson }}
{{- end }}

{{- /* The keys of [node] that belong to mounts of the pod. Expects a group. */}}
{{- define "cardcage.node" -}}
{{- $node := dict "name" "$NODE_NAME" "modules_dir" "/usr/lib/cardcage/modules" "kubelet_root" .values.kubeletRootDir
      "device_plugins_dir" .values.devicePluginsDir "cdi_dir" .values.cdiDir "driver_root" (include "cardcage.driverFolder" .values) }}
{{- if ne $node.driver_root .values.driverRoot }}{{ $_ := set $node "driver_root_on_node" .values.driverRoot }}{{ end }}
{{- with .values.hooksDir }}{{ $_ := set $node "hooks_dir" . }}{{ end }}
{{- if .values.nodeFeatureDiscovery.enabled }}{{ $_ := set $node "features_dir" .values.nodeFeatureDiscovery.dir }}{{ end }}
{{- if include "cardcage.services" . }}{{ $_ := set $node "services_cgroup" .values.services.cgroup }}{{ end }}
{{- if include "cardcage.networkDevices" . }}{{ $_ := set $node "nri_socket" (printf "%s/nri.sock" .values.nriSocketDir) }}{{ end }}
{{- if and .values.web.enabled (not .values.web.allowActions) }}
{{- $_ := set $node "read_only_socket" (printf "%s/admin.sock" (include "cardcage.web.folder" .)) }}
{{- $_ := set $node "read_only_group" (int (include "cardcage.web.group" .)) }}
{{- end }}
{{- $node | toJson }}
{{- end }}

{{- /* The tables that take effect at the next start of the daemon. */}}
{{- define "cardcage.toml.start" -}}
[node]
{{- include "cardcage.toml.lines" (merge (include "cardcage.node" . | fromJson) (default dict .values.config.node)) }}
{{- $apiserver := deepCopy (default dict .values.config.apiserver) }}
{{- if and .lease (not (hasKey $apiserver "claim_labels")) }}{{ $_ := set $apiserver "claim_labels" .lease }}{{ end }}
{{- with $apiserver }}

[apiserver]
{{- include "cardcage.toml.lines" . }}
{{- end }}
{{- end }}

{{- define "cardcage.toml" -}}
# Made by Cardcage's chart: change its values instead. A running daemon applies the new file by itself.
{{ include "cardcage.toml.start" . }}
{{- with .values.config.log }}

[log]
{{- include "cardcage.toml.lines" . }}
{{- end }}

[metrics]
listen = {{ toRawJson .values.metrics.listen }}
{{- with .values.config.deadlines }}

[deadlines]
{{- include "cardcage.toml.lines" . }}
{{- end }}
{{- range .modules }}
{{ include "cardcage.toml.module" . }}
{{- end }}
{{- with .values.config.extraToml }}

{{ . | trim }}
{{- end }}
{{- end }}
