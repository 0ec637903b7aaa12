{{- /* Refuses values that the schema allows and that cannot work. Each message says what is wrong, why, and what to do. */}}
{{- define "cardcage.checks" -}}
{{- if eq .Release.Namespace "default" }}
{{- fail "namespace 'default': the daemon's pods are privileged, and a namespace for them alone can be labelled for that; install with `--namespace cardcage --create-namespace`" }}
{{- end }}
{{- if and (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) }}
{{- fail "serviceAccount.create is false and serviceAccount.name is empty: the pods would have the ServiceAccount 'default', which is not the daemon's alone; name one" }}
{{- end }}
{{- range $monitor := list "serviceMonitor" "podMonitor" }}
{{- if and (get $.Values.metrics $monitor).enabled (regexMatch "^$|^127\\.|^localhost|^\\[::1\\]" $.Values.metrics.listen) }}
{{- fail (printf "metrics.%s.enabled: Prometheus cannot reach metrics.listen '%s'; set metrics.listen=0.0.0.0:9471" $monitor $.Values.metrics.listen) }}
{{- end }}
{{- end }}
{{- range $page := list "web" "fleet" }}
{{- with get $.Values $page }}
{{- if .enabled }}
{{- include "cardcage.checks.tls" (list $page .tls) }}
{{- end }}
{{- end }}
{{- end }}
{{- if eq .Values.fleet.port .Values.fleet.healthPort }}
{{- fail (printf "fleet.port and fleet.healthPort are both %v: one program cannot listen twice; change one" .Values.fleet.port) }}
{{- end }}
{{- if and .Values.fleet.computeDomains.enabled (not .Values.fleet.enabled) }}
{{- fail "fleet.computeDomains.enabled: cardcage-fleet manages ComputeDomains, and fleet.enabled is false; enable both" }}
{{- end }}
{{- include "cardcage.checks.profiles" . }}
{{- range (include "cardcage.groups" . | fromJson).groups }}
{{- include "cardcage.checks.group" . }}
{{- end }}
{{- include "cardcage.checks.drivers" . }}
{{- include "cardcage.checks.releases" . }}
{{- end }}

{{- define "cardcage.checks.tls" }}
{{- $where := index . 0 }}
{{- with index . 1 }}
{{- if and .certManager.enabled (not (get .certManager.issuerRef "name")) }}
{{- fail (printf "%s.tls.certManager has no issuerRef.name: cert-manager would not know who signs; name an Issuer or ClusterIssuer" $where) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "cardcage.checks.profiles" }}
{{- $seen := list }}
{{- range $index, $profile := .Values.profiles }}
{{- $where := printf "profiles[%d] '%s'" $index .name }}
{{- if not .nodeSelector }}
{{- fail (printf "%s has no nodeSelector: it would run on every node, beside the daemons of the other profiles; add the labels of its nodes" $where) }}
{{- end }}
{{- range $seen }}
{{- if eq .name $profile.name }}{{ fail (printf "%s: another profile has this name; each needs its own" $where) }}{{ end }}
{{- if or (include "cardcage.includes" (list .nodeSelector $profile.nodeSelector)) (include "cardcage.includes" (list $profile.nodeSelector .nodeSelector)) }}
{{- fail (printf "%s: its nodeSelector and that of profile '%s' match the same nodes, and the second daemon of a node only waits for the first; give a label two values" $where .name) }}
{{- end }}
{{- end }}
{{- $seen = append $seen $profile }}
{{- end }}
{{- end }}

{{- /* True if all labels of the first map are in the second. */}}
{{- define "cardcage.includes" -}}
{{- $other := index . 1 }}
{{- $all := true }}
{{- range $key, $value := index . 0 }}{{ if ne (toString $value) (toString (get $other $key)) }}{{ $all = false }}{{ end }}{{ end }}
{{- if $all }}true{{ end }}
{{- end }}

{{- define "cardcage.checks.group" }}
{{- $values := .values }}
{{- $of := ternary (printf " (profile '%s')" .profile) "" (ne .profile "") }}
{{- if and (not .modules) (not (contains "[[module]]" $values.config.extraToml)) }}
{{- fail (printf "no module is enabled%s: the daemon would have no devices; set modules.NAME.enabled=true for nvidia, imex, fpga, nic, generic or mock, or add to vendorModules" $of) }}
{{- end }}
{{- $node := include "cardcage.node" . | fromJson }}
{{- range $key, $_ := $values.config.node }}
{{- if or (hasKey $node $key) (has $key (list "driver_root_on_node" "hooks_dir" "features_dir" "services_cgroup" "nri_socket" "state_dir" "run_dir")) }}
{{- fail (printf "config.node.%s%s: the pod's mounts must agree with this key, so the chart sets it; use the value for it, such as kubeletRootDir, cdiDir or driverRoot" $key $of) }}
{{- end }}
{{- end }}
{{- range $index, $module := $values.vendorModules }}
{{- include "cardcage.checks.vendor" (list (printf "vendorModules[%d] '%s'%s" $index .name $of) . $values) }}
{{- end }}
{{- $names := list }}
{{- $served := dict }}
{{- range $module := .modules }}
{{- if has .name $names }}{{ fail (printf "two modules have the name '%s'%s: logs, metrics and cagectl tell modules apart by it; rename one" .name $of) }}{{ end }}
{{- $names = append $names .name }}
{{- $rules := concat (default list .values.drivers) (default list .values.resources) }}
{{- if not $rules }}
{{- fail (printf "module '%s'%s has neither drivers nor resources: no pod could ask for its devices; add one" .name $of) }}
{{- end }}
{{- range $rules }}
{{- $key := default .resource .driver }}
{{- with get $served $key }}
{{- fail (printf "modules '%s' and '%s'%s both serve '%s': pods could not tell their devices apart; rename one" . $module.name $of $key) }}
{{- end }}
{{- $_ := set $served $key $module.name }}
{{- end }}
{{- end }}
{{- end }}

{{- define "cardcage.checks.vendor" }}
{{- $where := index . 0 }}
{{- $module := index . 1 }}
{{- $values := index . 2 }}
{{- if hasKey $values.modules $module.name }}
{{- fail (printf "%s has the name of a module of Cardcage; rename it" $where) }}
{{- end }}
{{- if not $module.sha256 }}
{{- fail (printf "%s has no sha256: the daemon would load as root whatever is in the place of the file; add what `sha256sum` prints" $where) }}
{{- end }}
{{- if and (not $module.image) (not $module.onNode) }}
{{- fail (printf "%s has no image: the daemon needs the file; name an image that has it at path, or copy it to vendorModulesDir of each node and set onNode=true" $where) }}
{{- end }}
{{- if and $module.image $module.onNode }}
{{- fail (printf "%s has both image and onNode: the file can come from one of them only; remove one" $where) }}
{{- end }}
{{- if and $module.onNode (not $values.vendorModulesDir) }}
{{- fail (printf "%s has onNode, but vendorModulesDir is empty; set the folder of the node that has the file" $where) }}
{{- end }}
{{- end }}

{{- define "cardcage.checks.drivers" }}
{{- $drivers := (include "cardcage.drivers" . | fromJson).drivers }}
{{- range $right := list "claimStatus" "bindingConditions" }}
{{- if and (get $.Values $right).enabled (not $drivers) }}
{{- fail (printf "%s.enabled: no module has drivers, and the right is granted for each driver; add drivers, or disable it" $right) }}
{{- end }}
{{- end }}
{{- $names := list }}
{{- range (include "cardcage.classes" . | fromJson).classes }}
{{- if has .name $names }}{{ fail (printf "DeviceClass '%s' is made twice: by deviceClasses.create for a driver, or by deviceClasses.additional; rename one" .name) }}{{ end }}
{{- $names = append $names .name }}
{{- end }}
{{- range $class, $_ := .Values.deviceClasses.extendedResources }}
{{- if not (has $class $names) }}
{{- fail (printf "deviceClasses.extendedResources: there is no DeviceClass '%s' (the chart makes: %s); correct the name" $class (join ", " $names)) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Another release in the cluster, as the API server knows it: `helm template` sees none. */}}
{{- define "cardcage.checks.releases" }}
{{- if and .Values.rbac.create (not .Values.allowSecondRelease) }}
{{- range (lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" "").items }}
{{- $labels := default dict .metadata.labels }}
{{- $annotations := default dict .metadata.annotations }}
{{- $release := get $annotations "meta.helm.sh/release-name" }}
{{- $namespace := get $annotations "meta.helm.sh/release-namespace" }}
{{- if and $release (hasPrefix (printf "%s-" $.Chart.Name) (default "" (get $labels "helm.sh/chart"))) (or (ne $release $.Release.Name) (ne $namespace $.Release.Namespace)) }}
{{- fail (printf "release '%s' in namespace '%s' has Cardcage in this cluster already: two daemons on one node wait for each other, and DeviceClasses belong to the whole cluster; use profiles of that release for other nodes, or set allowSecondRelease=true if the two share no node" $release $namespace) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
